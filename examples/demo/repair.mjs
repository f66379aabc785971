// @ts-check
import { mergeFiles, workflow } from "openrath";
import { check, review } from "./checks.mjs";

/**
 * @typedef {import("openrath").Session} Session
 * @typedef {import("./checks.mjs").Checked} Checked
 */

/**
 * The software task: one agent reads the issue, one repairs, tests and a validator decide. A rejected patch is repaired on
 * two branches at once, while a third agent writes the missing test; the better repair is kept, and the lesson of the
 * failure is remembered with its evidence.
 *
 * @param {import("./agents.mjs").Agents} agents
 * @param {import("openrath/memory").MemorySpace} notes
 */
export function repair(agents, notes) {
  const files = mergeFiles({ resolve: "ours" });
  return workflow("repair", { ...agents, files }, async (session, { research, coder, validator }) => {
    const known = await research.forward(session);
    const patched = await coder.forward(known.say("Repair it as was found.", { by: "runtime" }));
    const checked = await check(patched);
    const first = await review(checked, validator);
    if (first.judgement.accept) return ended(first.session, checked);

    const better = await repaired(first.session, agents);
    const last = await check(await files.forward(better));
    const final = await review(last, validator);
    if (!final.judgement.accept) return ended(final.session, last);
    const { lesson } = first.judgement;
    if (lesson.trim() === "") return ended(final.session, last);
    // The evidence: the tests that failed, the judgement of the validator, and the tests that pass now.
    const { session: remembered } = await notes.write(final.session, {
      text: lesson,
      because: [checked.session.id, first.session.id, last.session.id],
      source: "failed-attempt",
      by: "agent:validator",
      subject: "splitting a total",
    });
    return ended(remembered, last);
  });
}

/**
 * Two repairs and the missing test, side by side on forks; the files of the better repair and of the test continue.
 *
 * @param {Session} rejected
 * @param {import("./agents.mjs").Agents} agents
 */
async function repaired(rejected, { small, bold, tester }) {
  /** @type {(name: string, why: string) => Session} */
  const fork = (name, why) => rejected.fork(name, { why, by: "runtime" });
  const [one, other, test] = await Promise.all([
    attempt(small, fork("small", "change as little as possible")),
    attempt(bold, fork("bold", "cannot be wrong by construction")),
    tester.forward(fork("regression", "the test that was missing")),
  ]);
  const [winner, loser] = one.score >= other.score ? [one, other] : [other, one];
  const merged = winner.session.merge(loser.session, {
    adopt: "ours",
    why: `${winner.session.branch}: ${winner.words} passed; ${loser.session.branch}: ${loser.words}`,
    by: "runtime",
  });
  return merged.merge(test, { why: "the repair and the test that was missing", by: "runtime" });
}

/**
 * @param {import("openrath").Module} coder
 * @param {Session} session
 */
async function attempt(coder, session) {
  return check(await coder.forward(session.say("Mend the patch.", { by: "runtime" })));
}

/**
 * @param {Session} session
 * @param {Checked} checked
 */
function ended(session, { passed, words }) {
  return session.say(`Issue 41 is ${passed ? "repaired" : "not repaired"}: ${words} pass.`, {
    role: "assistant",
    by: "runtime",
  });
}
