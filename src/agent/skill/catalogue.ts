import { join } from "node:path";
import { type FileEntry, Folder } from "../../sandbox/index.js";
import { digestOf, RathError, thrownMessage } from "../../session/index.js";
import { MissingPackageError } from "../model/index.js";
import { splits } from "../tool/index.js";
import { SkillChangedError, SkillFileError } from "./error.js";
import { MAX_SKILL_BYTES, type ReadSkill, type Skill, type SkillProblem, skillOf, textOf } from "./skill.js";

/** The skills found in some folders, as JSON, and why others were left out. */
export type Catalogue = { readonly skills: readonly Skill[]; readonly problems: readonly SkillProblem[] };

const SKILL_FILE = "SKILL.md";
/** More directories than this are not skills that anybody chose. */
const MAX_SKILLS = 1000;
const MAX_FILES = 200;
const MAX_LEVELS = 8;
/** Longer files are useless as references for a model. */
const MAX_FILE_BYTES = 2_000_000;
/** Characters of a file that are shown at a time. */
export const PAGE = 40_000;

/** Looks into folders for skills. Of two of one name the first is loaded. Links are not followed. */
export async function readCatalogue(folders: readonly string[]): Promise<Catalogue> {
  const skills = new Map<string, Skill>();
  const problems: SkillProblem[] = [];
  for (const folder of folders) {
    for (const read of await skillsIn(folder)) {
      if ("problem" in read) problems.push(read.problem);
      else {
        const { name } = read.skill;
        const other = skills.get(name) ?? read.skill;
        skills.set(name, other);
        const message = `there is a skill of this name in ${JSON.stringify(other.folder)} already`;
        if (other !== read.skill) problems.push({ folder, name, code: "name-taken", message });
      }
    }
  }
  return { skills: [...skills.values()], problems };
}

async function skillsIn(folder: string): Promise<readonly ReadSkill[]> {
  const files = new Folder(folder);
  const problem = (code: SkillProblem["code"], message: string): ReadSkill => ({
    problem: { folder, code, message },
  });
  let entries: readonly FileEntry[];
  try {
    entries = await files.list();
  } catch (error) {
    return [problem("folder-missing", reasonOf(error))];
  }
  const found: ReadSkill[] = [];
  const names = entries.filter(
    ({ name, kind }) => !name.startsWith(".") && (kind === "directory" || kind === "link"),
  );
  for (const { name, kind } of names.slice(0, MAX_SKILLS))
    found.push(await skillIn(files, folder, name, kind));
  if (names.length > MAX_SKILLS)
    found.push(
      problem("folder-full", `of ${names.length} directories the first ${MAX_SKILLS} were looked at`),
    );
  return found;
}

async function skillIn(
  files: Folder,
  folder: string,
  name: string,
  kind: FileEntry["kind"],
): Promise<ReadSkill> {
  const no = (code: SkillProblem["code"], message: string): ReadSkill => ({
    problem: { folder, name, code, message },
  });
  if (kind === "link") return no("link", "it is a link, and links are not followed");
  try {
    const path = `${name}/${SKILL_FILE}`;
    const there = await files.stat(path);
    if (there === undefined) return no("skill-file-missing", `it has no ${SKILL_FILE}`);
    if (there.kind !== "file") return no("link", `its ${SKILL_FILE} is a ${there.kind}, not a file`);
    if (there.size > MAX_SKILL_BYTES)
      return no("too-large", `its ${SKILL_FILE} has ${there.size} bytes, more than ${MAX_SKILL_BYTES}`);
    return await skillOf(folder, name, await files.read(path));
  } catch (error) {
    if (error instanceof MissingPackageError) throw error;
    return no("skill-file-missing", reasonOf(error));
  }
}

export type OpenedSkill = {
  readonly source: string;
  readonly digest: string;
  readonly instructions: string;
  readonly files: readonly string[];
  readonly more?: number;
};

/** Reads the instructions of a skill, which must be the one that was loaded. */
export async function openSkill({
  folder,
  name,
  digest,
}: Pick<Skill, "folder" | "name" | "digest">): Promise<OpenedSkill> {
  const files = new Folder(folder);
  const read = await skillIn(files, folder, name, "directory");
  if ("problem" in read)
    throw new SkillFileError(
      join(name, SKILL_FILE),
      read.problem.message,
      "load the skills again: await loadSkills(folder)",
      { code: read.problem.code },
    );
  if (read.skill.digest !== digest) throw new SkillChangedError(name, digest, read.skill.digest);
  const found = await filesBelow(files, name);
  return {
    source: join(folder, name, SKILL_FILE),
    digest,
    instructions: read.instructions,
    files: found.slice(0, MAX_FILES),
    ...(found.length > MAX_FILES && { more: found.length - MAX_FILES }),
  };
}

async function filesBelow(files: Folder, root: string): Promise<readonly string[]> {
  const found: string[] = [];
  const open: { path: string; level: number }[] = [{ path: "", level: 0 }];
  for (let next = open.shift(); next !== undefined; next = open.shift()) {
    for (const { name, kind } of await files.list(join(root, next.path))) {
      const path = next.path === "" ? name : `${next.path}/${name}`;
      if (kind === "directory" && next.level < MAX_LEVELS) open.push({ path, level: next.level + 1 });
      else if (kind === "file" && path !== SKILL_FILE) found.push(path);
      // An endless folder must not keep us here.
      if (found.length > MAX_FILES * 10) return found;
    }
  }
  return found.sort();
}

export type ShownFile = {
  readonly path: string;
  readonly digest: string;
  readonly characters: number;
  readonly text: string;
  readonly next?: number;
};

/** Reads a page of a file of a skill. The path stays inside the skill, and no link on it is followed. */
export async function readSkillFile(skill: Skill, path: string, from: number): Promise<ShownFile> {
  const { text, digest } = await readText(new Folder(join(skill.folder, skill.name)), path, MAX_FILE_BYTES);
  const characters = text.length;
  // Never between the halves of a character.
  const whole = (at: number): number => (splits(text, at) ? at - 1 : at);
  const end = whole(Math.min(characters, from + PAGE));
  return {
    path,
    digest,
    characters,
    text: text.slice(whole(from), end),
    ...(end < characters && { next: end }),
  };
}

export async function readText(
  files: Folder,
  path: string,
  most: number,
): Promise<{ readonly text: string; readonly digest: string }> {
  const there = await files.stat(path);
  if (there === undefined) throw new SkillFileError(path, "nothing is there", "see which files it has");
  if (there.kind !== "file")
    throw new SkillFileError(path, `it is a ${there.kind}, not a file`, "name a file");
  if (there.size > most)
    throw new SkillFileError(
      path,
      `it has ${there.size} bytes, more than ${most}`,
      "read it in a sandbox, in parts",
    );
  const bytes = await files.read(path);
  const text = textOf(bytes);
  if (text === undefined)
    throw new SkillFileError(path, "it is not text", "use it in a sandbox, by a command");
  return { text, digest: digestOf(bytes) };
}

/** The reason of an error, without its hint. */
export function reasonOf(error: unknown): string {
  if (error instanceof RathError)
    return String(error.data.why ?? error.data.reason ?? error.message.split("\n")[0]);
  return thrownMessage(error);
}
