// The workflow of a turn: one activity, which any worker of the pool may take. It is told ids, and tells a word.
import { proxyActivities } from "@temporalio/workflow";

const { take } = proxyActivities({
  // A worker that says nothing for so long is dead, and another one takes the turn.
  heartbeatTimeout: "3 seconds",
  startToCloseTimeout: "7 days",
  // A worker without room is asked again, or another one is. What is not taken for a minute is woken anew, if it is due.
  retry: { initialInterval: "100 milliseconds", maximumInterval: "1 second", maximumAttempts: 60 },
});

/** @param {import("openrath/cluster").Wake} wake */
export async function turn(wake) {
  return take(wake);
}
