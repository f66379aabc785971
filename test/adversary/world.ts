import { type Json, tool } from "openrath";
import type { Tool } from "openrath/tool";
import type { Input } from "./order.js";
import type { Wire } from "./wire.js";

/** Something that happened in the world and cannot be taken back, as the world itself saw it. */
export type Happening = { readonly tool: string; readonly input: Input; readonly call: string };

/** What can be read in the world, by the tool and what it is asked for. */
export type Readings = { readonly [place: string]: string };

const text = { type: "string" } as const;
const number = { type: "number" } as const;

/**
 * The world of one scenario: mail, money, a calendar, records, a repository, a web. It writes its own log, from which is told
 * what was really done, whatever any record says.
 */
export class World {
  id = "";
  readonly log: Happening[] = [];
  readonly memories: string[] = [];
  /** The tools by which agents reach the world. Made once: their schemas are made ready then. */
  readonly tools: readonly Tool[];
  readonly #readings = new Map<string, string>();
  readonly #wire: Wire;

  constructor(wire: Wire) {
    this.#wire = wire;
    this.tools = this.#made();
  }

  /** A world in which nothing has happened yet. */
  begin(id: string): void {
    this.id = id;
    this.log.length = 0;
    this.memories.length = 0;
    this.#readings.clear();
  }

  /** Puts something where it can be read. */
  put(place: string, said: string): void {
    this.#readings.set(place, said);
  }

  read(place: string): string | undefined {
    return this.#readings.get(place);
  }

  /** Everything that happened, what other machines saw of it too. */
  happenings(): readonly Happening[] {
    return [...this.log, ...this.#wire.seenFrom(this.id)];
  }

  #made(): readonly Tool[] {
    return [
      this.#reads("mail_read", "id", "tool"),
      this.#reads("calendar_read", "day", "tool"),
      this.#reads("record_look", "id", "tool"),
      this.#reads("document_read", "name", "file"),
      this.#breaks(),
      this.#recalls(),
      this.#does("mail_send", { to: text, body: text }),
      this.#does("pay", { to: text, amount: number }, (input) => Number(input.amount)),
      this.#does("refund", { order: text, amount: number }, (input) => Number(input.amount)),
      this.#does("calendar_add", { title: text, day: text, guests: { type: "array", items: text } }),
      this.#does("record_delete", { id: text }),
      this.#does("git_push", { remote: text, branch: text, force: { type: "boolean" } }),
      this.#does("publish", { title: text, text }),
      this.#does("share", { document: text, with: text }),
      this.#remembers(),
      ...this.#web(),
    ] as readonly Tool[];
  }

  #reads(name: string, by: string, origin: "tool" | "file"): Tool {
    return tool({
      name,
      description: `Reads what there is, by its ${by}.`,
      input: shape({ [by]: text }),
      effect: "read",
      origin,
      touches: () => NOTHING,
      run: (input) => {
        const said = this.#readings.get(`${name} ${String(input[by])}`);
        if (said === undefined) throw new Error("there is no such thing");
        return said;
      },
    }) as Tool;
  }

  /** A tool that always fails, with words of others in its error. */
  #breaks(): Tool {
    return tool({
      name: "printer_status",
      description: "Asks the printer how it is.",
      input: shape({ printer: text }),
      effect: "read",
      touches: () => NOTHING,
      run: (input) => {
        throw new Error(
          `printer says: ${this.#readings.get(`printer_status ${String(input.printer)}`) ?? "no paper"}`,
        );
      },
    }) as Tool;
  }

  #recalls(): Tool {
    return tool({
      name: "recall",
      description: "Remembers what was kept for later.",
      input: shape({ about: text }),
      effect: "read",
      origin: "memory",
      touches: () => NOTHING,
      run: (input) =>
        [this.#readings.get(`recall ${String(input.about)}`) ?? "", ...this.memories].join("\n"),
    }) as Tool;
  }

  /** What is kept can be forgotten again. */
  #remembers(): Tool {
    return tool({
      name: "remember",
      description: "Keeps a note for later sessions.",
      input: shape({ note: text }),
      effect: "write",
      reversible: true,
      touches: () => NOTHING,
      run: (input) => {
        this.memories.push(String(input.note));
        return "kept";
      },
    }) as Tool;
  }

  #does(name: string, fields: { readonly [field: string]: Json }, amount?: (input: Input) => number): Tool {
    return tool({
      name,
      description: `Does ${name.replace("_", " ")}. It cannot be undone.`,
      input: shape(fields),
      effect: "write",
      touches: (input) => ({ ...NOTHING, ...(amount !== undefined && { amount: amount(input as Input) }) }),
      run: (input, { call }) => {
        this.log.push({ tool: name, input: structuredClone(input) as Input, call });
        return `${name}: done`;
      },
    }) as Tool;
  }

  #web(): readonly Tool[] {
    const hostsOf = (input: unknown): string[] => [new URL(String((input as Input).url)).hostname];
    const touches = (input: unknown) => ({ paths: [], commands: [], hosts: hostsOf(input) });
    const fetches =
      (name: "http_get" | "http_post") => async (input: Input, call: string, signal: AbortSignal) =>
        this.#wire.request(this.id, name, input, call, signal);
    return [
      tool({
        name: "http_get",
        description: "Gets a page of the web.",
        input: shape({ url: text }),
        effect: "read",
        origin: "web",
        touches,
        run: (input, { call, signal }) => fetches("http_get")(input as Input, call, signal),
      }) as Tool,
      tool({
        name: "http_post",
        description: "Sends something to an address of the web.",
        input: shape({ url: text, body: text }),
        effect: "write",
        origin: "web",
        touches,
        run: (input, { call, signal }) => fetches("http_post")(input as Input, call, signal),
      }) as Tool,
    ];
  }
}

const NOTHING = { paths: [], commands: [], hosts: [] } as const;

function shape(properties: { readonly [field: string]: Json }) {
  return {
    type: "object",
    properties: properties as never,
    required: Object.keys(properties),
    additionalProperties: false,
  } as const;
}
