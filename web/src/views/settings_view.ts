/**
 * The form of all settings. Settings in, form out; and a change of the form becomes new settings.
 * The names of the form's fields are those of index.html.
 */
import { bytesLabel } from '../model/order.ts';
import {
  PRESETS,
  presetOf,
  type PresetName,
  type Settings,
  type TraceShare,
  type WorkloadName,
} from '../model/settings.ts';
import { TRACES, type TraceName } from '../model/trace_catalogue.ts';
import { byId, make, setText } from './dom.ts';

const KNOBS = [
  'cachedOrders',
  'capacity',
  'burstCapacity',
  'batch',
  'transferCapacity',
] as const;

export class SettingsView {
  readonly #form = byId('settings', HTMLFormElement);
  readonly #trace = byId('trace', HTMLSelectElement);
  readonly #share = byId('share', HTMLSelectElement);
  readonly #workers = byId('workers', HTMLInputElement);
  readonly #objects = byId('objects', HTMLInputElement);
  readonly #size = byId('size', HTMLInputElement);
  readonly #mixed = byId('mixed', HTMLInputElement);
  readonly #pace = byId('pace', HTMLSelectElement);
  readonly #preset = byId('preset', HTMLSelectElement);
  readonly #maximumBytes = byId('maximumBytes', HTMLSelectElement);
  readonly #knobs = KNOBS.map((name) => [name, byId(name, HTMLInputElement)] as const);
  readonly #onChange: (settings: Settings) => void;

  /** Shows `settings`; `onChange` is called with new ones, once a slider is let go. */
  constructor(settings: Settings, onChange: (settings: Settings) => void) {
    this.#onChange = onChange;
    for (const [name, { title, threads }] of Object.entries(TRACES)) {
      const label = threads === 1 ? title : `${title}, ${threads} threads`;
      this.#trace.append(make('option', { value: name }, label));
    }
    this.#show(settings);
    this.#form.addEventListener('submit', (event) => event.preventDefault());
    this.#form.addEventListener('input', ({ target }) => {
      // The knobs first: which preset is shown follows from them.
      if (target === this.#preset) {
        this.#showKnobs(PRESETS[this.#preset.value as PresetName]);
      }
      this.#label(this.#read());
    });
    this.#form.addEventListener('change', () => this.#changed());
  }

  #changed(): void {
    this.#checkLayers(this.#read().arena);
    if (this.#form.reportValidity()) {
      this.#onChange(this.#read());
    }
  }

  /** What the package would refuse is said at the field that is wrong, before anything is stopped. */
  #checkLayers({ capacity, burstCapacity, batch, transferCapacity }: Settings['arena']): void {
    byId('burstCapacity', HTMLInputElement).setCustomValidity(
      burstCapacity < capacity ? `A cache never holds less than at first: at least ${capacity}.` : '',
    );
    byId('batch', HTMLInputElement).setCustomValidity(
      batch > capacity ? `A batch comes from one cache: at most ${capacity}.` : '',
    );
    byId('transferCapacity', HTMLInputElement).setCustomValidity(
      transferCapacity !== 0 && transferCapacity < batch
        ? `A transfer cache holds whole batches: at least ${batch}, or 0 for none.`
        : '',
    );
  }

  #show(settings: Settings): void {
    for (const radio of this.#form.querySelectorAll<HTMLInputElement>('[name=workload]')) {
      radio.checked = radio.value === settings.workload;
    }
    this.#trace.value = settings.trace;
    this.#share.value = settings.share;
    this.#workers.value = String(settings.workers);
    this.#objects.value = String(settings.objects);
    this.#mixed.checked = settings.size === 'mixed';
    this.#size.value = String(settings.size === 'mixed' ? 6 : Math.log2(settings.size));
    this.#pace.value = String(settings.pace);
    this.#maximumBytes.value = String(settings.arena.maximumBytes);
    this.#showKnobs(settings.arena);
    this.#label(settings);
  }

  #showKnobs(layers: Omit<Settings['arena'], 'maximumBytes'>): void {
    for (const [name, input] of this.#knobs) {
      input.value = String(layers[name]);
    }
  }

  /** Texts and visibility that follow from the settings. */
  #label(settings: Settings): void {
    const { workload, workers, objects, arena } = settings;
    setText(byId('workers-value', HTMLOutputElement), String(workers));
    setText(byId('objects-value', HTMLOutputElement), String(objects));
    setText(
      byId('objects-label', HTMLElement),
      workload === 'trace' ? 'Operations a cycle' : 'Objects a cycle',
    );
    setText(
      byId('size-value', HTMLOutputElement),
      this.#mixed.checked ? 'mixed' : bytesLabel(2 ** this.#size.valueAsNumber),
    );
    this.#size.disabled = this.#mixed.checked;
    const { program, operations } = TRACES[settings.trace];
    setText(
      byId('trace-note', HTMLElement),
      `${program}; ${operations.toLocaleString('en')} operations`,
    );
    this.#preset.value = presetOf(arena) ?? 'custom';
    for (const part of this.#form.querySelectorAll<HTMLElement>('[data-for]')) {
      part.hidden = !part.dataset['for']!.split(' ').includes(workload);
    }
  }

  #read(): Settings {
    const workload = new FormData(this.#form).get('workload') as WorkloadName;
    const knob = (name: (typeof KNOBS)[number]) => byId(name, HTMLInputElement).valueAsNumber;
    return {
      workload,
      workers: this.#workers.valueAsNumber,
      objects: this.#objects.valueAsNumber,
      size: this.#mixed.checked ? 'mixed' : 2 ** this.#size.valueAsNumber,
      pace: Number(this.#pace.value),
      trace: this.#trace.value as TraceName,
      share: this.#share.value as TraceShare,
      arena: {
        maximumBytes: Number(this.#maximumBytes.value),
        cachedOrders: knob('cachedOrders'),
        capacity: knob('capacity'),
        burstCapacity: knob('burstCapacity'),
        batch: knob('batch'),
        transferCapacity: knob('transferCapacity'),
      },
    };
  }
}
