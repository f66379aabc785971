import type { Json } from "../../session/index.js";
import { isRecord, plainJson } from "./content.js";
import { ModelError } from "./failure.js";
import type { Reader, Streamed, Typed } from "./model.js";
import type { Came } from "./reply.js";

type Part = { [field: string]: unknown; type: string; broken?: string };
type Fields = { readonly [field: string]: unknown };

/** Reads a stream to its end as a reply. An error in it, or a missing finish, is a failure. */
export async function assemble(
  streamed: Streamed,
  signal: AbortSignal | undefined,
  onDelta: (delta: Json) => void,
): Promise<Came> {
  const reader = streamed.stream.getReader();
  const assembly = new Assembly(streamed.response ?? {}, onDelta);
  try {
    for (let next = await read(reader, signal); !next.done; next = await read(reader, signal))
      if (next.value !== undefined) assembly.take(next.value);
  } catch (error) {
    // Nobody reads on, so close the connection.
    Promise.resolve(reader.cancel(error)).catch(() => {});
    throw error;
  }
  return assembly.whole();
}

/** The next piece, or the end of patience: not every stream hears of an abort. */
async function read(reader: Reader<Typed>, signal: AbortSignal | undefined) {
  if (signal === undefined) return await reader.read();
  let stop = (): void => {};
  const stopped = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([reader.read(), stopped]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

class Assembly {
  readonly #parts: Part[] = [];
  readonly #open = new Map<string, Part>();
  readonly #chunks: unknown[] = [];
  readonly #onDelta: (delta: Json) => void;
  #response: object;
  #warnings: readonly object[] = [];
  #finish: Fields | undefined;

  constructor(response: object, onDelta: (delta: Json) => void) {
    this.#response = response;
    this.#onDelta = onDelta;
  }

  take(piece: Typed): void {
    const fields = piece as Fields;
    const id = String(fields.id ?? "");
    switch (piece.type) {
      case "text-start":
      case "reasoning-start":
        this.#begin(piece.type.slice(0, -6), id, fields, { text: "" });
        return;
      case "text-delta":
      case "reasoning-delta": {
        const type = piece.type.slice(0, -6);
        const part = this.#open.get(`${type} ${id}`) ?? this.#begin(type, id, fields, { text: "" });
        part.text = `${part.text}${fields.delta ?? ""}`;
        addMetadata(part, fields);
        if (fields.delta) this.#onDelta({ type, text: String(fields.delta) });
        return;
      }
      case "text-end":
      case "reasoning-end": {
        const part = this.#open.get(`${piece.type.slice(0, -4)} ${id}`);
        if (part !== undefined) addMetadata(part, fields);
        return;
      }
      case "tool-input-start": {
        const { toolName, providerExecuted } = fields;
        const broken = "the reply ended before it was complete";
        const ran = providerExecuted === true && { providerExecuted };
        this.#begin("tool-call", id, fields, { toolCallId: id, toolName, input: "", broken, ...ran });
        return;
      }
      case "tool-input-delta": {
        const part = this.#open.get(`tool-call ${id}`);
        if (part === undefined) return;
        part.input = `${part.input}${fields.delta ?? ""}`;
        const [name, text] = [String(part.toolName ?? ""), String(fields.delta ?? "")];
        this.#onDelta({ type: "tool-input", call: id, name, text });
        return;
      }
      case "tool-call": {
        const key = `tool-call ${fields.toolCallId}`;
        const begun = this.#open.get(key);
        // Its input has come whole now.
        if (begun === undefined) this.#parts.push({ ...fields, type: piece.type });
        else this.#parts[this.#parts.indexOf(begun)] = { ...fields, type: piece.type };
        this.#open.delete(key);
        return;
      }
      case "tool-result": {
        // A later result replaces a preliminary one.
        const isEarlier = (part: Part) =>
          part.type === "tool-result" && part.toolCallId === fields.toolCallId && part.preliminary === true;
        const place = this.#parts.findIndex(isEarlier);
        this.#parts.splice(place === -1 ? this.#parts.length : place, 1, { ...fields, type: piece.type });
        return;
      }
      case "file":
      case "source":
      case "reasoning-file":
      case "custom":
      case "tool-approval-request":
        this.#parts.push({ ...fields, type: piece.type });
        return;
      case "stream-start":
        if (Array.isArray(fields.warnings)) this.#warnings = fields.warnings;
        return;
      case "response-metadata": {
        const { type: _, ...said } = fields;
        this.#response = { ...this.#response, ...said };
        return;
      }
      case "finish":
        this.#finish = fields;
        return;
      case "raw":
        this.#chunks.push(fields.rawValue);
        return;
      case "error":
        throw ModelError.of(fields.error, "The stream reported an error");
    }
  }

  whole(): Came {
    const finish = this.#finish;
    if (finish === undefined) throw ModelError.cut();
    return {
      content: this.#parts,
      finishReason: finish.finishReason as Came["finishReason"],
      usage: (finish.usage ?? {}) as object,
      response: this.#response,
      warnings: this.#warnings,
      chunks: this.#chunks,
      ...(finish.providerMetadata !== undefined && { providerMetadata: finish.providerMetadata as object }),
      ...(typeof finish.structuredOutputText === "string" && {
        structuredOutputText: finish.structuredOutputText,
      }),
    };
  }

  #begin(type: string, id: string, fields: Fields, more: object): Part {
    const part: Part = { type, ...more };
    addMetadata(part, fields);
    this.#parts.push(part);
    this.#open.set(`${type} ${id}`, part);
    return part;
  }
}

/** A signature may come with any piece of the part it belongs to. */
function addMetadata(part: Part, { providerMetadata }: Fields): void {
  const more = plainJson(providerMetadata);
  if (!isRecord(more)) return;
  const all: { [provider: string]: Json } = { ...(part.providerMetadata as { [provider: string]: Json }) };
  for (const [provider, options] of Object.entries(more)) {
    const before = all[provider];
    all[provider] = isRecord(before) && isRecord(options) ? { ...before, ...options } : options;
  }
  part.providerMetadata = all;
}
