// A worker that hammers a heap until it is told to stop: see latency.mjs.

self.onmessage = async ({ data: { entry, handle, glue, module, memory, word, bytes } }) => {
  let pair;
  let end = () => {};
  if (handle !== undefined) {
    const { Arena } = await import(entry);
    const arena = await Arena.attach(handle);
    pair = () => arena.free(arena.alloc(bytes));
    end = () => arena.detach();
  } else {
    const bindings = await import(glue);
    bindings.initSync({ module, memory });
    pair = () => bindings.system_pair(bytes);
  }
  self.postMessage('at work');
  while (Atomics.load(word, 0) === 0) {
    pair();
  }
  end();
  self.postMessage('done');
};
