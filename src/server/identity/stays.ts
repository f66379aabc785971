import type { Auth } from "./auth.js";
import type { Identity } from "./identity.js";

/** So often the file of users is looked at, and after so many looks every identity, also where nothing changed. */
const LOOK_MS = 1_000;
const LOOKS = 15;

type Stay = { readonly request: Request; readonly identity: Identity; readonly end: () => void };

/** Ends the streams of people who were revoked, whose tokens expired, who left or whose roles are others now. */
export class Stays {
  readonly #auth: Auth;
  readonly #open = new Set<Stay>();
  #timer: NodeJS.Timeout | undefined;
  #version = "";
  #looks = 0;

  constructor(auth: Auth) {
    this.#auth = auth;
  }

  /** Ends a stream of events when its reader is no longer who they were. Other answers stay as they are. */
  keep(response: Response, request: Request, identity: Identity): Response {
    const { body, headers, status } = response;
    if (body === null || !headers.get("content-type")?.startsWith("text/event-stream")) return response;
    const reader = body.getReader();
    const stay: Stay = { request, identity, end: () => void reader.cancel().catch(() => {}) };
    this.#enter(stay);
    const kept = new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          const { done, value } = await reader.read();
          if (!done) return controller.enqueue(value);
          this.#leave(stay);
          controller.close();
        },
        cancel: (reason) => {
          this.#leave(stay);
          return reader.cancel(reason);
        },
      },
      { highWaterMark: 0 },
    );
    return new Response(kept, { headers, status });
  }

  #enter(stay: Stay): void {
    if (this.#open.size === 0) this.#version = this.#auth.version;
    this.#open.add(stay);
    this.#timer ??= setInterval(() => void this.#look(), LOOK_MS).unref();
  }

  #leave(stay: Stay): void {
    this.#open.delete(stay);
    if (this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #look(): Promise<void> {
    const { version } = this.#auth;
    this.#looks = version === this.#version ? this.#looks + 1 : LOOKS;
    this.#version = version;
    if (this.#looks < LOOKS) return;
    this.#looks = 0;
    for (const stay of [...this.#open]) if (!(await this.#holds(stay))) stay.end();
  }

  async #holds({ request, identity }: Stay): Promise<boolean> {
    const now = await this.#auth.identify(request).catch(() => undefined);
    return (
      now?.principal === identity.principal && JSON.stringify(now.grants) === JSON.stringify(identity.grants)
    );
  }
}
