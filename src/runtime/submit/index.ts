export {
  AT,
  CANCEL,
  classOf,
  DUE,
  dueEntry,
  entryKey,
  LATER,
  laterEntry,
  type Needs,
  PAUSED,
  QUEUE,
  STUCK,
  type Submission,
  submissionAt,
  timeOfEntry,
  WAIT,
} from "./submission.js";
export { baseOfRun, type SubmitOptions, type Submitted, submit } from "./submit.js";
