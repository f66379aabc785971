import { SpanKind, SpanStatusCode, TraceFlags } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import type { ReadableSpan } from "@opentelemetry/sdk-trace-base";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { type Json, type RathError, Session } from "../../../session/index.js";
import { openStore, type Store } from "../../../store/index.js";
import { type SendOptions, SpansError, sendSpans } from "./send.js";
import type { Span } from "./span.js";
import { decoder, receiver } from "./testing/receiver.js";
import { world } from "./testing/world.js";
import { spansOf } from "./tracer.js";
import { documentOf } from "./write.js";

let subject: { readonly name: string; readonly session: Session; readonly store: Store };
let spans: readonly Span[];
beforeAll(async () => {
  subject = { name: "world", ...(await world()) };
  spans = spansOf(subject, { content: true });
});
afterEach(() => {
  vi.unstubAllEnvs();
});

async function failure(sending: Promise<unknown>): Promise<SpansError> {
  const error: unknown = await sending.then(
    () => expect.fail("it was sent"),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(SpansError);
  return error as SpansError;
}

const quick: SendOptions = { backoff: 1, attempts: 3 };

describe("sending spans", () => {
  it("[S1] spans arrive in batches, as the document has them", async () => {
    const { url, got, close } = await receiver();
    const sent = await sendSpans(subject, {
      url,
      content: true,
      batch: 5,
      service: "mine",
      headers: { "x-team": "blue" },
    });
    expect(sent).toEqual({
      spans: spans.length,
      batches: Math.ceil(spans.length / 5),
      rejected: 0,
      messages: [],
    });
    expect(got.map(({ path }) => path)).toEqual(got.map(() => "/v1/traces"));
    expect(got[0]?.headers).toMatchObject({ "content-type": "application/json", "x-team": "blue" });
    const arrived = got.flatMap(({ body }) => spansIn(body));
    expect(arrived).toEqual(spansIn(documentOf(spans)));
    expect(JSON.stringify(got[0]?.body)).toContain('"service.name","value":{"stringValue":"mine"}');
    await close();
    // No more at once than receivers take, however much was said.
    const large = await receiver();
    let long = Session.start("x");
    for (let number = 0; number < 5; number++)
      long = long.append({ type: "step-call", name: "s", input: "x".repeat(1_000_000) });
    const { batches } = await sendSpans(
      { session: long, store: subject.store },
      { url: large.url, content: true },
    );
    expect([batches, large.got.length]).toEqual([3, 3]);
    await large.close();
  });

  it("[E6] erased content is not sent, though the session in memory still has it", async () => {
    const store = await openStore("memory:");
    const asked = Session.start("x", { inline: 0 }).append({ type: "model-call", model: "gpt-5" });
    const usage = { input: 1, output: 1 };
    const reply = { type: "model-reply", of: asked.id, content: "marlin!", finish: "stop", usage } as const;
    const session = asked.append(reply);
    await store.save(session, { name: "s" });
    const { url, got, close } = await receiver();
    const send = async () => {
      await sendSpans({ session, store }, { url, content: true });
      return JSON.stringify(got.at(-1)?.body);
    };
    expect(await send()).toContain("marlin");
    const digests = [...session.blobs()].map(({ ref }) => ref.digest);
    await store.erase("s", { digests, why: "asked for", by: "user:ada" });
    const sent = await send();
    expect(sent).not.toContain("marlin");
    expect(sent).toContain("withheld");
    await Promise.all([close(), store.close()]);
  });

  it.skipIf(decoder() === undefined)(
    "[S1] a decoder made from the protocol's definitions reads back every span",
    async () => {
      const { verify, fromObject, encode, decode, toObject } = decoder() as NonNullable<
        ReturnType<typeof decoder>
      >;
      const { url, got, close } = await receiver();
      await sendSpans(subject, { url, content: true });
      for (const { body } of got) {
        // The JSON of OTLP has ids in hex, where the JSON of the definitions has base64.
        const message = fromObject(withBytes(body) as object);
        expect(verify(message)).toBeNull();
        const back = toObject(decode(encode(message).finish()), {
          longs: String,
          bytes: String,
          defaults: false,
        });
        expect(hexIds(back)).toEqual(expected(body));
      }
      await close();
    },
  );

  it("[S1] the official exporter sends the same for the same spans", async () => {
    const { url, got, close } = await receiver();
    const exporter = new OTLPTraceExporter({ url: `${url}/v1/traces` });
    await new Promise<void>((resolve, reject) =>
      exporter.export(spans.map(readable), ({ error }) => (error === undefined ? resolve() : reject(error))),
    );
    await exporter.shutdown();
    await sendSpans(subject, { url, content: true });
    const [official, own] = got as [(typeof got)[0], (typeof got)[0]];
    expect(spansIn(own.body).map(normal)).toEqual(spansIn(official.body).map(normal));
    expect(own.headers["content-type"]).toBe(official.headers["content-type"]);
    await close();
  });

  it("[S2] a receiver that is busy is tried again, when it says so itself", async () => {
    const { url, got, close } = await receiver((number, response) => {
      if (number === 1) response.writeHead(503, { "retry-after": "0" }).end();
      else if (number === 2) response.writeHead(429, { "retry-after": new Date(0).toUTCString() }).end();
      else response.end("{}");
    });
    // Without its own word for it, nobody would come again within a minute.
    expect(await sendSpans(subject, { url, attempts: 3, backoff: 60_000 })).toMatchObject({
      spans: spans.length,
    });
    expect(got.length).toBe(3);
    await close();
  });

  it("[S2] one that stays busy, is gone, slow or refuses is an error that says how many arrived", async () => {
    const busy = await receiver(
      (number, response) => void (number === 1 ? response.end() : response.writeHead(502).end()),
    );
    const some = await failure(sendSpans(subject, { url: busy.url, ...quick, batch: 4 }));
    expect(some).toMatchObject({ code: "spans-not-sent", data: { status: 502, sent: 4, of: spans.length } });
    expect(busy.got.length).toBe(4);
    await busy.close();
    expect((await failure(sendSpans(subject, { url: busy.url, ...quick }))).data.reason).toMatch(
      /cannot be reached/,
    );

    for (const [status, hint] of [
      [400, /send again/],
      [401, /key/],
      [404, /v1\/traces/],
      [307, /send again/],
    ] as const) {
      const refusing = await receiver(
        (_, response) => void response.writeHead(status, { location: "http://127.0.0.1:1/" }).end("no"),
      );
      const error = await failure(sendSpans(subject, { url: refusing.url, ...quick }));
      expect(error.data).toMatchObject({ status, sent: 0 });
      expect(error.hint).toMatch(hint);
      expect(refusing.got.length).toBe(1);
      await refusing.close();
    }
    const silent = await receiver(() => {});
    const late = await failure(sendSpans(subject, { url: silent.url, attempts: 2, backoff: 1, timeout: 50 }));
    expect(late.data.reason).toMatch(/did not answer within 50 milliseconds/);
    expect(silent.got.length).toBe(2);
    const signal = AbortSignal.timeout(50);
    expect((await failure(sendSpans(subject, { url: silent.url, signal }))).data.reason).toMatch(/stopped/);
    await silent.close();
    const patient = await receiver(
      (_, response) => void response.writeHead(503, { "retry-after": "9999" }).end(),
    );
    await failure(sendSpans(subject, { url: patient.url, ...quick }));
    expect(patient.got.length).toBe(1);
    const waiting = sendSpans(subject, {
      url: patient.url,
      backoff: 60_000,
      signal: AbortSignal.timeout(20),
    });
    await failure(waiting);
    await patient.close();
  });

  it("[S3] spans that are rejected are counted and told", async () => {
    const answers = [
      { partialSuccess: { rejectedSpans: "2", errorMessage: "too old" } },
      { partialSuccess: { errorMessage: "mind the limits" } },
      "garbage",
      { partialSuccess: { rejectedSpans: -5 } },
    ];
    const { url, close } = await receiver((number, response) => {
      const answer = answers[number - 1] ?? {};
      response.end(typeof answer === "string" ? answer : JSON.stringify(answer));
    });
    expect(await sendSpans(subject, { url, batch: 4 })).toMatchObject({
      rejected: 2,
      messages: ["too old", "mind the limits"],
    });
    await close();
    const endless = await receiver((_, response) => {
      response.write("x".repeat(200_000));
      response.on("error", () => {});
      response.end();
    });
    expect(await sendSpans(subject, { url: endless.url })).toMatchObject({ rejected: 0 });
    await endless.close();
  });

  it("[S4] the environment says where to and with which headers; they go nowhere else, and into no error", async () => {
    const { url, got, close } = await receiver(
      (number, response) => void (number > 4 ? response.writeHead(400).end() : response.end()),
    );
    vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", `${url}/base/`);
    vi.stubEnv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20hunter2, x-other = 1");
    await sendSpans(subject);
    vi.stubEnv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", `${url}/exact`);
    await sendSpans(subject);
    await sendSpans(subject, { url: `${url}/mine?token=hunter2` });
    await sendSpans(subject, { url });
    expect(got.map(({ path }) => path)).toEqual([
      "/base/v1/traces",
      "/exact",
      "/mine?token=hunter2",
      "/v1/traces",
    ]);
    expect(got.map(({ headers }) => headers.authorization)).toEqual([
      "Bearer hunter2",
      "Bearer hunter2",
      undefined,
      undefined,
    ]);
    expect(got[0]?.headers["x-other"]).toBe("1");
    const error = await failure(
      sendSpans(subject, { url: `${url}/mine?token=hunter2`, headers: { authorization: "hunter2" } }),
    );
    expect(JSON.stringify(error.toJSON()) + String(error.stack) + String(error.cause)).not.toContain(
      "hunter2",
    );
    await close();
  });

  it("[S5] options that cannot be are refused with what to write instead", async () => {
    const refused = async (options: object): Promise<RathError> => {
      const error: unknown = await sendSpans(subject, options).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: "option-refused" });
      return error as RathError;
    };
    expect((await refused({ uri: "http://x" })).hint).toMatch(/did you mean "url"/);
    expect((await refused({})).hint).toMatch(/OTEL_EXPORTER_OTLP_ENDPOINT/);
    for (const options of [
      { url: "nowhere" },
      { url: "ftp://x" },
      { url: "http://me:secret@x" },
      { url: "http://x", batch: 0 },
      { url: "http://x", attempts: 1.5 },
      { url: "http://x", timeout: -1 },
      { url: "http://x", headers: { "bad name": "x" } },
    ]) {
      const error = await refused(options);
      expect(error.hint.length).toBeGreaterThan(0);
      expect(error.message).not.toContain("secret");
    }
    vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1");
    vi.stubEnv("OTEL_EXPORTER_OTLP_HEADERS", "novalue");
    expect((await refused({})).message).toMatch(/HEADERS/);
  });
});

type Fields = { [field: string]: Json };

function spansIn(body: Json): readonly Fields[] {
  const document = body as unknown as { resourceSpans: { scopeSpans: { spans: Fields[] }[] }[] };
  return document.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans));
}

/** What two writers of the same protocol may spell differently: numbers as texts, keys in another order, nothing. */
function normal(value: Json): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).map(normal);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value as Fields)
      .filter(([, inner]) => inner !== undefined)
      .map(([key, inner]): [string, Json] => {
        // A fraction of nothing is a whole number to JavaScript.
        if (key === "doubleValue" && Number.isInteger(inner)) return ["intValue", Number(inner)];
        return [key, key === "intValue" ? Number(inner) : normal(inner)];
      })
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  );
}

/** The span as the official SDK would have it. */
function readable(span: Span): ReadableSpan {
  const time = (nanoseconds: string): [number, number] => [
    Number(BigInt(nanoseconds) / 1_000_000_000n),
    Number(BigInt(nanoseconds) % 1_000_000_000n),
  ];
  const context = (traceId: string, spanId: string) => ({ traceId, spanId, traceFlags: TraceFlags.SAMPLED });
  return {
    name: span.name,
    kind: span.kind === 3 ? SpanKind.CLIENT : SpanKind.INTERNAL,
    spanContext: () => context(span.traceId, span.spanId),
    ...(span.parentSpanId !== undefined && { parentSpanContext: context(span.traceId, span.parentSpanId) }),
    startTime: time(span.start),
    endTime: time(span.end),
    status:
      span.error === undefined
        ? { code: SpanStatusCode.UNSET }
        : { code: SpanStatusCode.ERROR, ...span.error },
    attributes: span.attributes as ReadableSpan["attributes"],
    links: span.links.map((link) => ({
      context: context(link.traceId, link.spanId),
      attributes: link.attributes as ReadableSpan["attributes"],
    })),
    events: span.events.map((event) => ({
      name: event.name,
      time: time(event.time),
      attributes: event.attributes as ReadableSpan["attributes"],
    })),
    duration: [0, 0],
    ended: true,
    resource: {
      attributes: { "service.name": "openrath" },
      asyncAttributesPending: false,
    } as unknown as ReadableSpan["resource"],
    instrumentationScope: { name: "openrath" },
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

const IDS = /^(traceId|spanId|parentSpanId)$/;

function withBytes(value: Json): Json {
  return mapped(value, (key, inner) =>
    IDS.test(key) ? Buffer.from(String(inner), "hex").toString("base64") : inner,
  );
}

function hexIds(value: unknown): Json {
  return mapped(value as Json, (key, inner) =>
    IDS.test(key) ? Buffer.from(String(inner), "base64").toString("hex") : inner,
  );
}

/** What is left when everything that is its default is left out, as the definitions do. */
function expected(value: Json): Json {
  // Flags are newer than the definitions of the decoder.
  const isLeft = ([key, inner]: [string, Json]) =>
    key !== "flags" && !(Array.isArray(inner) && inner.length === 0);
  const without = (one: Json): Json => {
    if (Array.isArray(one)) return (one as readonly Json[]).map(without);
    if (typeof one !== "object" || one === null) return one;
    return Object.fromEntries(
      Object.entries(one as Fields)
        .filter(isLeft)
        .map(([key, inner]) => [key, without(inner)]),
    );
  };
  return without(value);
}

function mapped(value: Json, change: (key: string, inner: Json) => Json): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).map((one) => mapped(one, change));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value as Fields).map(([key, inner]) => [key, change(key, mapped(inner, change))]),
  );
}
