// A process of its own that uses an index, for tests. The first argument says what to do, as JSON; it tells what happened
// in one line of JSON on stdout.
const { built, url, folder, space, heads, rounds, query, die } = JSON.parse(process.argv[2]);
const { openStore } = await import(`${built}/store.js`);
const { SpaceIndex } = await import(`${built}/index.js`);

const embedder = {
  name: "length-1",
  dimensions: 2,
  embed: (texts) => texts.map((text) => Float32Array.of(1, (text.length % 10) / 10)),
};
const store = await openStore(url);
const index = new SpaceIndex({ folder, space, embedder });
const told = [];
for (let round = 0; round < rounds; round++) {
  const head = heads[round % heads.length];
  await index.sync(store, head, {
    // Killed in the middle of a long way.
    progress: (done) => {
      if (die !== undefined && done > die) process.kill(process.pid, "SIGKILL");
    },
  });
  const found = await index.find(query, { limit: 5, threshold: 0, now: "2026-11-02T00:00:00.000Z" });
  told.push({ head, found: found.map(({ memory, score }) => [memory.id, score]) });
}
index.close();
await store.close();
process.stdout.write(`${JSON.stringify(told)}\n`);
