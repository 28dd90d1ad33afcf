/** What the killer prints: now and then that it is alive, and at the end a table. */
const HEARTBEAT = 10_000;

export class Progress {
  #said = Date.now();

  constructor(title) {
    this.title = title;
    console.log(title);
  }

  say(text) {
    if (Date.now() - this.#said > HEARTBEAT) {
      this.#said = Date.now();
      console.log(`  ${text}`);
    }
  }
}

export function table(title, rows) {
  const width = Math.max(...rows.map(([name]) => name.length)) + 2;
  console.log(`\n${title}`);
  rows.forEach(([name, value]) => console.log(`  ${name.padEnd(width)}${value}`));
}
