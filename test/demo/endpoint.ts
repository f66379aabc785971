import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";

type ToolCall = { readonly function: { readonly name: string; readonly arguments: string } };
type Message = {
  readonly role: string;
  readonly content: unknown;
  readonly tool_calls?: readonly ToolCall[];
};
type Asked = {
  readonly messages: readonly Message[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
};
type Reply =
  | { readonly text: string }
  | { readonly call: readonly (readonly [name: string, input: object])[] };

/** An endpoint that speaks OpenAI's chat API and answers sensibly: by who asks, and by what was found so far. */
export class Endpoint {
  readonly asked: Asked[] = [];
  readonly keys = new Set<string | undefined>();
  /** The tools that were offered, by who asked. */
  readonly offered = new Map<string, readonly string[]>();
  readonly #server: Server;
  /** Answers with an error instead. */
  broken = false;
  /** Never finds a repair that would be fair. */
  hopeless = false;

  constructor() {
    this.#server = createServer((request, response) => {
      this.keys.add(request.headers.authorization);
      bodyOf(request).then(
        (text) => {
          response.setHeader("content-type", "application/json");
          if (this.broken) response.writeHead(401).end('{"error":{"message":"no such key","type":"auth"}}');
          else response.end(JSON.stringify(this.#answer(JSON.parse(text) as Asked)));
        },
        () => response.destroy(),
      );
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #answer(asked: Asked): object {
    this.asked.push(asked);
    const who = whoAsks(asked);
    this.offered.set(
      who,
      (asked.tools ?? []).map((tool) => tool.function.name),
    );
    const reply = REPLIES[this.hopeless && who === "bold" ? "small" : who]?.(asked) ?? {
      text: "I do not know.",
    };
    const isText = "text" in reply;
    return {
      id: `reply-${this.asked.length}`,
      object: "chat.completion",
      created: 1,
      model: "loopback",
      choices: [
        {
          index: 0,
          finish_reason: isText ? "stop" : "tool_calls",
          message: {
            role: "assistant",
            content: isText ? reply.text : null,
            ...(!isText && {
              tool_calls: reply.call.map(([name, input], place) => ({
                id: `call-${this.asked.length}-${place}`,
                type: "function",
                function: { name, arguments: JSON.stringify(input) },
              })),
            }),
          },
        },
      ],
      usage: { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 },
    };
  }
}

function whoAsks({ messages }: Asked): string {
  const instructions = String(messages.find(({ role }) => role === "system")?.content ?? "");
  return (
    Object.keys(INSTRUCTIONS).find((who) => instructions.includes(INSTRUCTIONS[who] as string)) ?? "nobody"
  );
}

const INSTRUCTIONS: { readonly [who: string]: string } = {
  research: "prepare the work",
  coder: "repair the repository",
  small: "as few lines",
  bold: "by construction",
  tester: "test/fair.test.js",
  validator: "decide whether a patch",
};

/** A body of split() in the file that it stands in. */
const file = (body: string): object => ({
  path: "src/split.js",
  text: `import { amount, cents } from "./money.js";\n\nexport function split(total, people) {\n  const all = cents(total);\n${body}\n}\n`,
});
const ON_THE_LAST =
  "  const each = Math.floor(all / people);\n  return Array.from({ length: people }, (_, place) => amount(place === people - 1 ? all - each * (people - 1) : each));";
const TO_THE_FIRST =
  "  const each = Math.floor(all / people);\n  return Array.from({ length: people }, (_, place) => amount(each + (place < all - each * people ? 1 : 0)));";

const REPLIES: { readonly [who: string]: (asked: Asked) => Reply } = {
  research: ({ messages }) =>
    results(messages) === 0
      ? {
          call: [
            ["view", { path: "ISSUE.md" }],
            ["memory_recall", { query: "splitting amounts, rounding" }],
          ],
        }
      : { text: "The shares are rounded one by one." },
  coder: ({ messages }) =>
    calls(messages, "write").length === 0
      ? { call: [["write", file(ON_THE_LAST)]] }
      : { text: "The last one takes what is left." },
  small: ({ messages }) =>
    calls(messages, "write").length < 2
      ? { call: [["write", file(`${ON_THE_LAST} // still`)]] }
      : { text: "I changed a comment." },
  bold: ({ messages }) =>
    calls(messages, "write").length < 2
      ? { call: [["write", file(TO_THE_FIRST)]] }
      : { text: "Cents go to the first ones." },
  tester: ({ messages }) =>
    calls(messages, "write").length < 2
      ? {
          call: [
            [
              "write",
              {
                path: "test/fair.test.js",
                text: 'import assert from "node:assert/strict";\nimport { test } from "node:test";\nimport { split } from "../src/split.js";\ntest("fair", () => assert.deepEqual(split("0.02", 3), ["0.01", "0.01", "0.00"]));\n',
              },
            ],
          ],
        }
      : { text: "There is a test now." },
  validator: ({ messages }) => {
    if (messages.at(-1)?.role !== "tool") return { call: [["view", { path: "src/split.js" }]] };
    const [, passed, total] =
      [...JSON.stringify(messages).matchAll(/(\d+) of (\d+) tests passed/g)].at(-1) ?? [];
    const accept = passed === total;
    return {
      text: JSON.stringify({
        accept,
        reason: `${passed} of ${total}`,
        lesson: accept ? "" : "Spread what is left over, and test for fairness.",
      }),
    };
  },
};

function calls(messages: readonly Message[], name: string): readonly ToolCall[] {
  return messages.flatMap(({ tool_calls = [] }) => tool_calls.filter((call) => call.function.name === name));
}

function results(messages: readonly Message[]): number {
  return messages.filter(({ role }) => role === "tool").length;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk;
  return text;
}
