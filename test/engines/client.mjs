// A process that submits and answers with the built package: `client.mjs STORE`. A call for each message: [method, …arguments].
import { openRath } from "openrath";

const rath = openRath({ store: process.argv[2] ?? "" });
const calls = {
  async submit(file, module, name, text, times = 1) {
    const exported = await import(file);
    const session = rath.start(text);
    const all = Array.from({ length: times }, () => rath.submit(exported[module], session, { name }));
    return (await Promise.all(all)).filter(({ repeated }) => !repeated).length;
  },
  signal: (name, signal, value) => rath.signal(name, signal, value, "user:ada"),
};
process.on("message", async ([id, method, ...args]) => {
  try {
    process.send?.([id, (await calls[method](...args)) ?? null]);
  } catch (error) {
    process.send?.([id, null, String(error)]);
  }
});
process.on("disconnect", () => process.exit());
