// @ts-check
// The value in memory: appending, forking, merging. The limit is what any content-addressed record must do.
import { hash } from "node:crypto";
import { Session } from "openrath";
import { heap, median, time, words } from "../measure.mjs";

const FACTS = 10_000;

/** @param {(text: string) => void} progress */
export function measureValue(progress) {
  progress("appending 10,000 facts");
  const texts = Array.from({ length: FACTS }, (_, step) => words(200, step));
  const build = () => {
    let session = Session.start("bench");
    for (const text of texts) session = session.say(text);
    return session;
  };
  const lines = [...build().history()].map((session) => JSON.parse(session.line));
  const bare = [];
  const withIds = [];
  const limit = [];
  // Side by side, so that whatever else the machine does hits all three alike.
  for (let round = 0; round < 25; round++) {
    let session = Session.start("warm");
    bare.push(time(() => (session = build())));
    withIds.push(/** @type {number} */ (bare.at(-1)) + time(() => session.id));
    limit.push(
      time(() => {
        for (const line of lines) hash("sha256", JSON.stringify(line));
      }),
    );
  }

  progress("forking at 10, 1,000 and 100,000 facts");
  const trunks = [10, 1_000, 100_000].map(trunkOf);
  const forks = trunks.map(() => /** @type {number[]} */ ([]));
  for (let round = 0; round < 60; round++) {
    for (const [index, trunk] of trunks.entries()) {
      forks[index]?.push(
        time(() => {
          for (let count = 0; count < 2_000; count++) trunk.fork("b");
        }) * 500,
      );
    }
  }
  const longest = /** @type {Session} */ (trunks[2]);
  const kept = new Array(100_000);
  const before = heap();
  for (let index = 0; index < kept.length; index++) kept[index] = longest.fork("b");
  const forkBytes = (heap() - before) / kept.length;
  kept.length = 0;

  progress("merging on 10 and 100,000 facts");
  const merges = [0, 2].map((index) => mergeTimes(/** @type {Session} */ (trunks[index])));

  return {
    append_10k_ms: median(withIds),
    append_10k_without_ids_ms: median(bare),
    append_limit_10k_ms: median(limit),
    append_vs_limit: median(withIds) / median(limit),
    fork_ns_10: median(/** @type {number[]} */ (forks[0])),
    fork_ns_1k: median(/** @type {number[]} */ (forks[1])),
    fork_ns_100k: median(/** @type {number[]} */ (forks[2])),
    fork_bytes: forkBytes,
    merge_ns_trunk_10: merges[0]?.merge,
    merge_ns_trunk_100k: merges[1]?.merge,
    merge_usage_ns_trunk_10: merges[0]?.usage,
    merge_usage_ns_trunk_100k: merges[1]?.usage,
  };
}

/** A trunk as a saved session is: its ids are known. @param {number} facts */
function trunkOf(facts) {
  let trunk = Session.start("trunk");
  for (let step = 1; step < facts; step++) trunk = trunk.say(`step ${step}`);
  trunk.id;
  return trunk;
}

/** New branches each time, so that nothing about them is remembered. @param {Session} trunk */
function mergeTimes(trunk) {
  trunk.usage;
  const merge = [];
  const usage = [];
  for (let round = 0; round < 400; round++) {
    const [ours, theirs] = ["ours", "theirs"].map((name) => {
      let branch = trunk.fork(`${name} ${round}`);
      for (let step = 1; step < 10; step++) branch = branch.say(`${name} ${step}`);
      return branch;
    });
    let merged = trunk;
    merge.push(
      time(() => (merged = /** @type {Session} */ (ours).merge(/** @type {Session} */ (theirs)))) * 1e6,
    );
    usage.push(time(() => merged.usage) * 1e6);
  }
  return { merge: median(merge), usage: median(usage) };
}
