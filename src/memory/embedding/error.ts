import { RathError } from "../../session/index.js";

/** Texts could not be turned into vectors, or what came back are none. */
export class EmbeddingError extends RathError {
  constructor(embedder: string, reason: string, hint: string, cause?: unknown) {
    super("memory-embedding", `Cannot embed with ${embedder}: ${reason}.`, {
      hint,
      data: { embedder, reason },
      cause,
    });
  }
}
