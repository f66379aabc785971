import { describe, expectTypeOf, it } from "vitest";
import type { Rath } from "../runtime/index.js";
import type { Json, Session } from "../session/index.js";
import {
  loop,
  type Module,
  parallel,
  type Recorded,
  type Step,
  sequence,
  step,
  Workflow,
  workflow,
} from "./index.js";

declare const session: Session;
declare const rath: Rath;
const read = { effect: "read" } as const;
const stock = step("stock", async (item: string) => item.length, read);

describe("types", () => {
  it("[E9] a step that needs its input is not a module", () => {
    // @ts-expect-error nobody would give it an item
    sequence([stock]);
    // @ts-expect-error nobody would give it an item
    parallel("p", { stock });
    // @ts-expect-error nobody would give it an item
    loop("l", stock, { max: 2 });
    // @ts-expect-error nobody would give it an item
    rath.run(stock, session);
    // @ts-expect-error nobody would give it an item
    stock.forward(session);
    // @ts-expect-error nobody would give it an item
    stock.call(session);
    // @ts-expect-error an item is a text
    stock.call(session, 5);
  });

  it("[E9] but a workflow may be made of it, and gives it its input", () => {
    const shop = workflow("shop", { stock }, async (given, parts) => {
      expectTypeOf(parts.stock).toEqualTypeOf<Step<string, number>>();
      const { session: next, value } = await parts.stock.call(given, "pencil");
      expectTypeOf(value).toEqualTypeOf<number>();
      return parts.stock.forward(next, "pen");
    });
    sequence([shop]);
    // @ts-expect-error no module at all
    workflow("w", { odd: 7 }, async (given) => given);
    class Shop extends Workflow {
      readonly stock = stock;
      async forward(given: Session): Promise<Session> {
        return (await this.stock.call(given, "pen")).session;
      }
    }
    expectTypeOf<Shop>().toExtend<Module>();
  });

  it("[E9] a step that can do without is one", () => {
    const modules: readonly Module[] = [
      step("a", async () => 1, read),
      step("b", (_input, { key }) => key, read),
      step("c", (input: Json) => input, read),
      step("d", (input: unknown) => typeof input, read),
      step("e", (input: string | null) => input, read),
      step("f", (input?: string) => input, read),
      step("g", (input = "pen") => input, read),
      // biome-ignore lint/suspicious/noExplicitAny: what JavaScript is taken for
      step("h", (input: any) => typeof input, read),
    ];
    sequence(modules);
  });

  it("[E1] a value has the type of its JSON", () => {
    type Row = { id: number; when: Date; at: URL; note?: string; tags: string[]; deep: { on: Date }[] };
    expectTypeOf<Recorded<Row>>().toEqualTypeOf<{
      id: number;
      when: string;
      at: string;
      note?: string;
      tags: string[];
      deep: { on: string }[];
    }>();
    expectTypeOf<Recorded<Date | undefined>>().toEqualTypeOf<string | null>();
    expectTypeOf<Recorded<void>>().toEqualTypeOf<null>();
    expectTypeOf<Recorded<"a" | 7 | null>>().toEqualTypeOf<"a" | 7 | null>();
    expectTypeOf<Recorded<Json>>().toEqualTypeOf<Json>();
    expectTypeOf<Recorded<unknown>>().toEqualTypeOf<unknown>();
    expectTypeOf<Recorded<{ a: string | undefined }>>().toEqualTypeOf<{ a: string | undefined }>();
    expectTypeOf<Recorded<(Date | undefined)[]>>().toEqualTypeOf<(string | null)[]>();
    expectTypeOf<Recorded<readonly [Date, number]>>().toEqualTypeOf<readonly [string, number]>();
    interface Receipt {
      readonly total: number;
    }
    expectTypeOf<Recorded<Receipt>>().toEqualTypeOf<Receipt>();
  });
});
