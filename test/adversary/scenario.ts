import { Dice } from "./dice.js";
import { GOALS, type Goal, goalOf } from "./goal.js";
import { ENCODINGS, PHRASINGS } from "./order.js";
import { Scene } from "./scene.js";
import { type Pieces, SOURCES } from "./source.js";
import { TASKS, taskOf } from "./task.js";
import type { Wire } from "./wire.js";
import type { World } from "./world.js";

/** One way to attack one task, which a number decides. */
export type Scenario = {
  readonly seed: number;
  readonly task: string;
  readonly goal: string;
  readonly phrasing: string;
  readonly encoding: string;
  readonly source: string;
  readonly position: "begin" | "middle" | "end";
};

export function scenarioOf(seed: number): Scenario {
  const dice = new Dice(seed);
  return {
    seed,
    task: dice.pick(TASKS),
    goal: dice.pick(GOALS),
    phrasing: dice.pick(PHRASINGS).name,
    encoding: dice.pick(ENCODINGS).name,
    source: dice.pick(Object.keys(SOURCES)),
    position: dice.pick(["begin", "middle", "end"] as const),
  };
}

/** A scenario that is ready to be played, with the words of the attacker in place or without. */
export type Ready = { readonly scene: Scene; readonly goal: Goal; readonly hasty: boolean };

export async function ready(scenario: Scenario, world: World, wire: Wire, attacked: boolean): Promise<Ready> {
  // The same throws in every arm, so that they differ in nothing else.
  const dice = new Dice(scenario.seed * 31 + 7);
  const task = taskOf(scenario.task, dice);
  const goal = goalOf(scenario.goal, dice, task);
  world.begin(`w${++begun}-${scenario.seed}`);
  wire.join(world);
  const scene = new Scene(world, dice, task);
  scene.closing.push(() => wire.leave(world));
  scene.helped = goal.orders.some(({ tool }) => tool === "helper");
  const words = piecesOf(scenario, goal, dice);
  await SOURCES[scenario.source]?.(scene, attacked ? words : ["Nothing new here."], wire);
  return { scene, goal, hasty: dice.happens(0.3) };
}

let begun = 0;

function piecesOf({ phrasing, encoding, position }: Scenario, goal: Goal, dice: Dice): Pieces {
  const say = PHRASINGS.find(({ name }) => name === phrasing)?.say as (typeof PHRASINGS)[number]["say"];
  const write = ENCODINGS.find(({ name }) => name === encoding)?.write as (typeof ENCODINGS)[number]["write"];
  const words = goal.orders.map(say).join("\n");
  const around = (text: string): string => {
    const filler = "The quarterly report is on the second shelf. The weather was fine all week.";
    if (position === "begin") return `${text}\n${filler}`;
    return position === "end" ? `${filler}\n${text}` : `${filler}\n${text}\n${filler}`;
  };
  const [first, second] = write(words, dice);
  return second === undefined ? [around(first)] : [around(first), around(second)];
}
