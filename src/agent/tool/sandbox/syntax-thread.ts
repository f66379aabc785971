import { createRequire } from "node:module";
import { Worker } from "node:worker_threads";
import type { SyntaxProblem } from "./syntax.js";

/** Milliseconds that a parser may take. Some texts hold one up forever, and models write any text. */
const PATIENCE = 15_000;
/** Milliseconds without work after which the thread ends and gives back its memory. */
const IDLE = 60_000;

/** JavaScript, TypeScript and JSX with the compiler of TypeScript, if it is installed beside us. */
export async function checkScript(text: string, path: string): Promise<readonly SyntaxProblem[] | undefined> {
  // Another language in the same files.
  if (/@flow\b/.test(text.slice(0, 2000))) return undefined;
  return parsedBy("typescript", text, `/${path.slice(path.lastIndexOf("/") + 1)}`);
}

/** YAML with the project's own package `yaml`, on which we do not depend. */
export async function checkYaml(text: string, path: string): Promise<readonly SyntaxProblem[] | undefined> {
  return parsedBy("yaml", text, path);
}

/** The program of the thread, plain JavaScript: a file of its own could not be found from everywhere. */
const THREAD = `
const { parentPort } = require("node:worker_threads");
const readers = {
  typescript({ createProgram, createSourceFile, flattenDiagnosticMessageText, ModuleKind, ScriptTarget }, text, name) {
    const file = createSourceFile(name, text, ScriptTarget.ESNext, true);
    const options = { allowJs: true, noLib: true, noResolve: true, module: ModuleKind.ESNext, target: ScriptTarget.ESNext };
    // One file and nothing else: whatever it refers to is not looked at.
    const program = createProgram([name], options, {
      getSourceFile: (wanted) => (wanted === name ? file : undefined),
      fileExists: (wanted) => wanted === name,
      readFile: () => undefined,
      writeFile: () => {},
      getDefaultLibFileName: () => "lib.d.ts",
      getCurrentDirectory: () => "/",
      getCanonicalFileName: (wanted) => wanted,
      useCaseSensitiveFileNames: () => true,
      getNewLine: () => "\\n",
    });
    return program.getSyntacticDiagnostics(file).slice(0, 1000).map(({ start, messageText }) => {
      const { line, character } = file.getLineAndCharacterOfPosition(start);
      return { line: line + 1, column: character + 1, message: flattenDiagnosticMessageText(messageText, "\\n") };
    });
  },
  yaml({ parseAllDocuments }, text) {
    return [...parseAllDocuments(text)].flatMap(({ errors = [] }) =>
      errors.slice(0, 1000).map(({ message, linePos }) => ({
        line: linePos ? linePos[0].line : 1,
        column: linePos ? linePos[0].col : undefined,
        message: message.split("\\n")[0].replace(/ at line \\d+, column \\d+:?$/, ""),
      })),
    );
  },
};
parentPort.on("message", ({ reader, file, text, name }) => {
  let problems;
  try {
    problems = readers[reader](require(file), text, name);
  } catch {
    // Nested too deep for it, or not the package that it was taken for.
  }
  parentPort.postMessage(problems);
});
`;

type Reader = "typescript" | "yaml";
/** Checks go one after the other: the answer of the thread is that of the check under way. */
let queue: Promise<unknown> = Promise.resolve();
let thread: Worker | undefined;
let idle: NodeJS.Timeout | undefined;

/** The objections of a parser; undefined when it is missing or does not end. */
export async function parsedBy(
  reader: Reader,
  text: string,
  name: string,
  patience: number = PATIENCE,
): Promise<readonly SyntaxProblem[] | undefined> {
  const file = fileOf(reader);
  if (file === undefined) return undefined;
  const turn = queue.then(() => answered({ reader, file, text, name }, patience));
  queue = turn.catch(() => {});
  return turn;
}

async function answered(question: object, patience: number): Promise<readonly SyntaxProblem[] | undefined> {
  clearTimeout(idle);
  thread ??= started();
  const worker = thread;
  const answer = await new Promise<readonly SyntaxProblem[] | undefined>((resolve) => {
    const done = (found: readonly SyntaxProblem[] | undefined): void => {
      clearTimeout(timer);
      worker.off("message", done).off("exit", end);
      resolve(found);
    };
    const end = (): void => {
      if (thread === worker) thread = undefined;
      void worker.terminate();
      done(undefined);
    };
    // It also holds the process: nobody may wait for an answer that cannot come.
    const timer = setTimeout(end, patience);
    worker.on("message", done).on("exit", end);
    worker.postMessage(question);
  });
  idle = setTimeout(() => {
    void thread?.terminate();
    thread = undefined;
  }, IDLE);
  idle.unref();
  return answer;
}

function started(): Worker {
  const worker = new Worker(THREAD, {
    eval: true,
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: 1024 },
  });
  worker.unref();
  // Out of memory, for one: its exit follows, and is listened to.
  worker.on("error", () => {});
  return worker;
}

function fileOf(reader: Reader): string | undefined {
  try {
    return createRequire(import.meta.url).resolve(reader);
  } catch {
    return undefined;
  }
}
