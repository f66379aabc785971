import type { Json } from "../../../session/index.js";
import type { Handler } from "../index.js";

/** A request with a JSON body. */
export function posted(body: unknown, headers: { readonly [name: string]: string } = {}): Request {
  return new Request("http://localhost/agent", {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

/** What a front end asks for. */
export function inputFor(text: string | undefined, more: { readonly [field: string]: Json } = {}): Json {
  return {
    threadId: "t1",
    runId: "r1",
    state: {},
    messages: text === undefined ? [] : [{ id: `m-${text}`, role: "user", content: text }],
    tools: [],
    context: [],
    forwardedProps: {},
    ...more,
  };
}

export type Event = { readonly type: string; readonly [field: string]: Json | undefined };

/** The events of a stream, to its end. */
export async function eventsOf(response: Response): Promise<readonly Event[]> {
  return (await response.text())
    .split("\n\n")
    .filter((block) => block.startsWith("data: "))
    .map((block) => JSON.parse(block.slice(6)) as Event);
}

export async function asked(handler: Handler, body: unknown): Promise<readonly Event[]> {
  const response = await handler(posted(body));
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  return eventsOf(response);
}
