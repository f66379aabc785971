// @ts-check
import { approve, step, workflow } from "openrath";

/** What was charged. In your program: the bank. */
export const ledger = new Map();

const quote = step("quote", async () => ({ total: 130 }), { effect: "read" });

const consent = approve("consent", { charge: 130 });

const charge = step(
  "charge",
  async ({ total }, { key }) => {
    ledger.set(key, total); // pass `key` on: the bank recognises a repetition by it
    return { receipt: `${total} charged` };
  },
  {
    effect: "write", // never repeated silently
    reconcile: async (
      _input,
      { key }, // after a crash: did it happen?
    ) => (ledger.has(key) ? { value: { receipt: `${ledger.get(key)} charged` } } : "unknown"),
  },
);

/** The body is plain JavaScript. After a crash it runs again, and finished steps are taken from the record. */
export const order = workflow("order", { quote, consent, charge }, async (session) => {
  const { session: quoted, value } = await quote.call(session);
  const agreed = await consent.forward(quoted); // suspends the run: nothing stays in memory
  const { session: charged, value: done } = await charge.call(agreed, value);
  return charged.say(done.receipt, { role: "assistant" });
});
