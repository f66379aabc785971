import type { MemorySpace } from "../../memory/index.js";
import type { Module } from "../../runtime/index.js";
import type { FactId, Session } from "../../session/index.js";
import { mergeFiles, workflow } from "../../workflow/index.js";
import type { Cast } from "./cast.js";
import { type Checked, check, review } from "./checking.js";

/**
 * The software task: somebody reads the issue, somebody repairs, tests and a validator decide. A patch that is rejected is
 * repaired on two branches at once, while a third writes the test that was missing; the better one is kept, and what the
 * failure taught is remembered with its evidence.
 */
export function repair(cast: Cast, notes: MemorySpace): Module {
  const files = mergeFiles({ resolve: "ours" });
  return workflow("repair", { ...cast, files }, async (session, { research, coder, validator }) => {
    const known = await research.forward(session);
    const patched = await coder.forward(known.say("Repair it as was found.", { by: "runtime" }));
    const checked = await check(patched);
    const first = await review(checked, validator);
    if (first.judgement.accept) return ended(first.session, checked);

    const better = await repaired(first.session, cast);
    const last = await check(await files.forward(better));
    const final = await review(last, validator);
    if (!final.judgement.accept) return ended(final.session, last);
    const remembered = await learn(final.session, notes, first.judgement.lesson, [
      checked.session.id,
      first.session.id,
      last.session.id,
    ]);
    return ended(remembered, last);
  });
}

/** Two repairs and the missing test, side by side on forks; the files of the better repair and of the test go on. */
async function repaired(rejected: Session, { small, bold, tester }: Cast): Promise<Session> {
  const fork = (name: string, why: string): Session => rejected.fork(name, { why, by: "runtime" });
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

async function attempt(coder: Module, session: Session): Promise<Checked> {
  return check(await coder.forward(session.say("Mend the patch.", { by: "runtime" })));
}

/** What the failure taught, because of the tests that failed, the word of the validator, and the tests that pass now. */
async function learn(
  session: Session,
  notes: MemorySpace,
  lesson: string,
  because: readonly [FactId, ...FactId[]],
): Promise<Session> {
  if (lesson.trim() === "") return session;
  const { session: told } = await notes.write(session, {
    text: lesson,
    because,
    source: "failed-attempt",
    by: "agent:validator",
    subject: "splitting a total",
  });
  return told;
}

function ended(session: Session, { passed, words }: Checked): Session {
  return session.say(
    passed ? `Issue 41 is repaired: ${words} pass.` : `Issue 41 is not repaired: ${words} pass.`,
    { role: "assistant", by: "runtime" },
  );
}
