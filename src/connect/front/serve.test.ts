import { request } from "node:http";
import { connect } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { FrontError, type Handler, type ServeOptions, serve } from "./index.js";

async function served(handler: Handler, options: ServeOptions = {}): Promise<string> {
  const { url, close } = await serve(handler, options);
  onTestFinished(close);
  return url;
}

it("[S1] serves a fetch handler", async () => {
  const url = await served(async (asked) => {
    const headers = new Headers({ "x-path": new URL(asked.url).pathname });
    headers.append("set-cookie", "a=1");
    headers.append("set-cookie", "b=2");
    return new Response(`${asked.method} ${asked.headers.get("x-who")} ${await asked.text()}`, {
      status: 201,
      headers,
    });
  });
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  const response = await fetch(`${url}/a/b?c=d`, {
    method: "POST",
    body: "words",
    headers: { "x-who": "ada" },
  });
  expect(response.status).toBe(201);
  expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
  expect(response.headers.get("x-path")).toBe("/a/b");
  expect(await response.text()).toBe("POST ada words");
  expect((await fetch(url)).status).toBe(201);
  await expect(serve((async () => new Response()) as Handler, { prt: 1 } as never)).rejects.toThrow(
    FrontError,
  );
  await expect(serve(7 as never)).rejects.toThrow("handler must be a function");
});

it("[S4] refuses a port that is used", async () => {
  const url = await served(async () => new Response());
  const again = serve(async () => new Response(), { port: Number(new URL(url).port) });
  await expect(again).rejects.toMatchObject({
    code: "front-refused",
    message: expect.stringContaining("is used by another program"),
    hint: "give another port, or 0 for a free one",
  });
});

it("[S2] tells a handler that its client left, and holds back what a slow one does not take", async () => {
  let pulled = 0;
  const ends: string[] = [];
  const url = await served(async ({ signal }) => {
    signal.addEventListener("abort", () => ends.push("signal"));
    return new Response(
      new ReadableStream({
        pull(controller) {
          pulled += 1;
          controller.enqueue(new Uint8Array(65_536));
        },
        cancel: () => void ends.push("body"),
      }),
    );
  });
  const client = request(url);
  client.on("error", () => {});
  const answer = await new Promise<import("node:http").IncomingMessage>((resolve) => {
    client.on("response", resolve);
    client.end();
  });
  answer.pause();
  await settled(() => pulled);
  const before = pulled;
  expect(before).toBeLessThan(1000);
  client.destroy();
  await until(() => ends.length === 2);
  expect(ends.sort()).toEqual(["body", "signal"]);
});

it("[S3] refuses what is too long or broken, and shows nothing of what a handler throws", async () => {
  const url = await served(
    async (asked) => {
      if (new URL(asked.url).pathname === "/throw") throw new Error("secret");
      return new Response(await asked.text());
    },
    { maxBody: 10 },
  );
  const long = await fetch(url, { method: "POST", body: "x".repeat(100_000) });
  expect([long.status, await long.json()]).toMatchObject([413, { error: { code: "too-large" } }]);
  const thrown = await fetch(`${url}/throw`);
  expect(thrown.status).toBe(500);
  expect(await thrown.text()).not.toContain("secret");
  const raw = await new Promise<string>((resolve) => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1", () =>
      socket.write("GET / HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n"),
    );
    let text = "";
    socket.on("data", (piece) => (text += String(piece)));
    socket.on("close", () => resolve(text));
  });
  expect(raw).toMatch(/^HTTP\/1\.1 400 /);
  expect((await fetch(url, { method: "POST", body: "short" })).status).toBe(200);
});

async function until(isSo: () => boolean): Promise<void> {
  for (let tries = 0; tries < 500 && !isSo(); tries++)
    await new Promise((resolve) => setTimeout(resolve, 20));
}

/** Waits until a number no longer grows. */
async function settled(count: () => number): Promise<void> {
  for (let last = -1; last !== count(); ) {
    last = count();
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
