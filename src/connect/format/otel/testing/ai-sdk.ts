import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import type { Json } from "../../../../session/index.js";
import { mock, type Sdk, type Version } from "../../../ai-sdk/testing/sdk.js";

/** What the AI SDK itself tells OpenTelemetry about an answer with one call of a tool, as OTLP/JSON. */
export async function aiSdkSpans(version: Version, ai: Sdk): Promise<Json> {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const model = mock(version, [
    { calls: [{ id: "c1", name: "weather", input: { city: "Rome" } }] },
    { text: ["It is 21."] },
  ]);
  await ai.generateText({
    model,
    system: "Be kind.",
    prompt: "How warm?",
    temperature: 0.5,
    stopWhen: ai.stepCountIs(3),
    tools: {
      weather: ai.tool({
        description: "How warm it is.",
        inputSchema: ai.jsonSchema({ type: "object" }),
        execute: async () => ({ degrees: 21 }),
      }),
    },
    experimental_telemetry: { isEnabled: true, functionId: "forecast", tracer: provider.getTracer("ai") },
  });
  const spans = exporter.getFinishedSpans();
  const outer = spans.find(({ name }) => name === "ai.generateText")?.spanContext();
  const nanoseconds = ([seconds, more]: readonly [number, number]) =>
    String(BigInt(seconds) * 10n ** 9n + BigInt(more));
  return {
    resourceSpans: [
      {
        scopeSpans: [
          {
            spans: spans.map((span) => ({
              // Without a context manager each span is a trace: which is below which is the same in every run of the SDK.
              traceId: outer?.traceId ?? "",
              spanId: span.spanContext().spanId,
              ...(span.spanContext().spanId !== outer?.spanId && { parentSpanId: outer?.spanId ?? "" }),
              name: span.name,
              kind: 1,
              startTimeUnixNano: nanoseconds(span.startTime),
              endTimeUnixNano: nanoseconds(span.endTime),
              attributes: Object.entries(span.attributes).map(([key, value]) => ({
                key,
                value: anyOf(value),
              })),
            })),
          },
        ],
      },
    ],
  };
}

function anyOf(value: unknown): Json {
  if (Array.isArray(value)) return { arrayValue: { values: value.map(anyOf) } };
  if (typeof value === "number")
    return Number.isInteger(value) ? { intValue: value } : { doubleValue: value };
  return typeof value === "boolean" ? { boolValue: value } : { stringValue: String(value) };
}
