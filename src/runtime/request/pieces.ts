import { canonical, type Json } from "../../session/index.js";
import type { Secrets } from "../secrets.js";

/**
 * The output of a call on the way, in pieces, without the values of secrets: the end of a piece that may be the beginning of one is
 * kept back until the next piece tells.
 */
export class Pieces {
  readonly #secrets: Secrets;
  readonly #tell: (delta: Json) => void;
  readonly #held = new Map<string, Held>();

  constructor(secrets: Secrets, tell: (delta: Json) => void) {
    this.#secrets = secrets;
    this.#tell = tell;
  }

  take(delta: Json): void {
    const field = FIELDS.find((one) => typeof (delta as Fields | null)?.[one] === "string");
    if (field === undefined || Array.isArray(delta)) {
      this.flush();
      this.#tell(this.#secrets.conceal(delta).value);
      return;
    }
    const { [field]: piece, ...rest } = delta as Fields;
    const stream = canonical({ field, rest });
    const text = `${this.#held.get(stream)?.text ?? ""}${piece as string}`;
    const cut = this.#secrets.cutIn(text);
    this.#held.delete(stream);
    if (cut < text.length) this.#held.set(stream, { rest, field, text: text.slice(cut) });
    if (cut > 0) this.#say({ rest, field, text: text.slice(0, cut) });
  }

  /** The end of the stream: held text was not a secret. */
  flush(): void {
    for (const held of this.#held.values()) this.#say(held);
    this.#held.clear();
  }

  #say({ rest, field, text }: Held): void {
    this.#tell(this.#secrets.conceal({ ...rest, [field]: text }).value);
  }
}

type Fields = { readonly [field: string]: Json };
type Held = { readonly rest: Fields; readonly field: string; readonly text: string };

/** Where the words of a piece stand: of a model's stream, of a command's output. */
const FIELDS: readonly string[] = ["text", "delta"];
