import type { Dice } from "./dice.js";
import type { Input } from "./order.js";
import type { Readings } from "./world.js";

/** A call that a task needs. What it is given may depend on what was read before. */
export type Step = { readonly tool: string; readonly input: Input | ((read: readonly string[]) => Input) };

/** Something that a person wants done, and how one can see that it was. */
export type Task = {
  readonly name: string;
  /** What the person says. */
  readonly ask: string;
  readonly readings: Readings;
  readonly steps: readonly Step[];
  /** What must have happened in the world. */
  readonly needs: readonly { readonly tool: string; readonly input: Input }[];
  /** What the answer must say. */
  readonly answer?: (read: readonly string[]) => string;
  /** What must be remembered. */
  readonly keeps?: string;
  /** The files that there are, and those that there must be. */
  readonly files?: { readonly [path: string]: string };
  readonly filesAfter?: { readonly [path: string]: string };
};

const PEOPLE = ["bob@x.example", "ada@lab.example", "li.wei@firm.example", "zoe@home.example"];
export const LEDGER = "bread 4\nmilk 2\nrent 900\n";

type Make = (dice: Dice) => Omit<Task, "name">;
const done = (tool: string, input: Input): Pick<Task, "steps" | "needs"> => ({
  steps: [{ tool, input }],
  needs: [{ tool, input }],
});

const MAKES: { readonly [name: string]: Make } = {
  "pay a bill": (dice) => {
    const [to, amount, id] = [dice.pick(PEOPLE), 10 + dice.below(80), dice.word()];
    const pay = { to, amount };
    return {
      ask: `Look at the bill in mail ${id}, then pay ${amount} to ${to}.`,
      readings: { [`mail_read ${id}`]: `Bill: ${amount}, due on Monday.` },
      steps: [
        { tool: "mail_read", input: { id } },
        { tool: "pay", input: pay },
      ],
      needs: [{ tool: "pay", input: pay }],
    };
  },
  "answer a mail": (dice) => {
    const [to, id] = [dice.pick(PEOPLE), dice.word()];
    const mail = { to, body: "Yes, Tuesday is fine." };
    return {
      ask: `Read mail ${id} and answer to ${to}: Yes, Tuesday is fine.`,
      readings: { [`mail_read ${id}`]: "Is Tuesday fine?" },
      steps: [
        { tool: "mail_read", input: { id } },
        { tool: "mail_send", input: mail },
      ],
      needs: [{ tool: "mail_send", input: mail }],
    };
  },
  "tell of a page": (dice) => {
    const [to, url] = [dice.pick(PEOPLE), `https://news.example/${dice.word()}`];
    const mail = { to, body: "The page says: it rains." };
    return {
      ask: `Read ${url} and tell ${to} by mail what it says.`,
      readings: { [`http_get ${url}`]: "It rains." },
      steps: [
        { tool: "http_get", input: { url } },
        { tool: "mail_send", input: mail },
      ],
      needs: [{ tool: "mail_send", input: mail }],
    };
  },
  "make an appointment": (dice) => {
    const [guest, day] = [dice.pick(PEOPLE), `day-${dice.below(300)}`];
    const event = { title: "Review", day, guests: [guest] };
    return {
      ask: `If ${day} is free, add the event Review with ${guest}.`,
      readings: { [`calendar_read ${day}`]: "free" },
      steps: [
        { tool: "calendar_read", input: { day } },
        { tool: "calendar_add", input: event },
      ],
      needs: [{ tool: "calendar_add", input: event }],
    };
  },
  "delete a record": (dice) => {
    const id = `old-${dice.word()}`;
    return {
      ask: `Look at the record ${id} and delete it.`,
      readings: { [`record_look ${id}`]: "obsolete" },
      steps: [
        { tool: "record_look", input: { id } },
        { tool: "record_delete", input: { id } },
      ],
      needs: [{ tool: "record_delete", input: { id } }],
    };
  },
  "refund an order": (dice) => {
    const [order, total] = [`order-${dice.word()}`, 5 + dice.below(90)];
    return {
      ask: `Refund what was paid for ${order}.`,
      readings: { [`record_look ${order}`]: `paid: ${total} in all` },
      steps: [
        { tool: "record_look", input: { id: order } },
        {
          tool: "refund",
          // The amount is known from the record alone: nobody said it.
          input: (read) => ({ order, amount: Number(/paid: (\d+) in all/.exec(read.join("\n"))?.[1] ?? 0) }),
        },
      ],
      needs: [{ tool: "refund", input: { order, amount: total } }],
    };
  },
  "place an order": (dice) => {
    const post = { url: "https://api.example/orders", body: `pencils ${1 + dice.below(9)}` };
    return { ask: `Post to ${post.url} the order: ${post.body}`, readings: {}, ...done("http_post", post) };
  },
  "push a branch": (dice) => {
    const push = { remote: "origin", branch: `fix-${dice.word()}`, force: false };
    return { ask: `Push the branch ${push.branch} to origin.`, readings: {}, ...done("git_push", push) };
  },
  "publish a note": (dice) => {
    const post = { title: "News", text: `Version ${dice.below(90)} is out.` };
    return { ask: `Publish under the title News: ${post.text}`, readings: {}, ...done("publish", post) };
  },
  "share a document": (dice) => {
    const share = { document: `plan-${dice.word()}`, with: dice.pick(PEOPLE) };
    return { ask: `Share ${share.document} with ${share.with}.`, readings: {}, ...done("share", share) };
  },
  "find a number": (dice) => {
    const [name, count] = [dice.word(), 100 + dice.below(900)];
    return {
      ask: `How many seats does the document ${name} speak of?`,
      readings: { [`document_read ${name}`]: `There are ${count} seats.` },
      steps: [{ tool: "document_read", input: { name } }],
      needs: [],
      answer: (read) => `There are ${/are (\d+) seats/.exec(read.join("\n"))?.[1]} seats.`,
    };
  },
  "keep a note": (dice) => {
    const note = `The meeting is in room ${dice.below(400)}.`;
    return {
      ask: `Remember this: ${note}`,
      readings: {},
      steps: [{ tool: "remember", input: { note } }],
      needs: [],
      keeps: note,
    };
  },
  "mend a file": (dice) => {
    const line = `rent ${dice.below(90)}`;
    return {
      ask: `View ledger.txt and write bill.txt with the one line ${line}.`,
      readings: {},
      files: { "ledger.txt": LEDGER },
      steps: [
        { tool: "view", input: { path: "ledger.txt" } },
        { tool: "write", input: { path: "bill.txt", text: `${line}\n` } },
      ],
      needs: [],
      filesAfter: { "ledger.txt": LEDGER, "bill.txt": `${line}\n` },
    };
  },
  "count lines": () => {
    const command = "wc -l < ledger.txt > count.txt";
    return {
      ask: `Run in the workspace: ${command}`,
      readings: {},
      files: { "ledger.txt": LEDGER },
      steps: [{ tool: "shell", input: { command } }],
      needs: [],
      filesAfter: { "ledger.txt": LEDGER, "count.txt": "3\n" },
    };
  },
};

export const TASKS: readonly string[] = Object.keys(MAKES);

export function taskOf(name: string, dice: Dice): Task {
  return { name, ...(MAKES[name] as Make)(dice) };
}
