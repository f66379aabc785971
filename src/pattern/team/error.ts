import { RathError } from "../../session/index.js";

/** A task of a crew that came to no answer. It is the failure of the task's branch, and so on the record. */
export class TaskError extends RathError {
  constructor(task: string, agent: string, reason: string) {
    super("task-unanswered", `${agent} did not do the task "${task}": ${reason}.`, {
      hint: `give the agent more room or a clearer task, and go on from there: rath.replay(run, withState(crew, { "tasks.${task}.attempt": 2 }), { mode: "what-if" })`,
      data: { task, agent, reason },
    });
  }
}
