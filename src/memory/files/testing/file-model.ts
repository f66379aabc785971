/** Files by their paths, in the plainest way. */
export type FileModel = ReadonlyMap<string, string>;

type Call =
  | { readonly command: "create"; readonly path: string; readonly file_text: string }
  | {
      readonly command: "str_replace";
      readonly path: string;
      readonly old_str: string;
      readonly new_str: string;
    }
  | {
      readonly command: "insert";
      readonly path: string;
      readonly insert_line: number;
      readonly insert_text: string;
    }
  | { readonly command: "delete"; readonly path: string }
  | { readonly command: "rename"; readonly old_path: string; readonly new_path: string };

/** What a command makes of the files; undefined when it cannot be done. */
export function apply(files: FileModel, call: Call): FileModel | undefined {
  const next = new Map(files);
  const inside = (path: string): string[] => [...files.keys()].filter((one) => one.startsWith(`${path}/`));
  const blocked = (path: string): boolean =>
    path.split("/").some((_, place, names) => place > 1 && files.has(names.slice(0, place).join("/")));
  switch (call.command) {
    case "create":
      if (files.has(call.path) || inside(call.path).length > 0 || blocked(call.path)) return undefined;
      return next.set(call.path, call.file_text);
    case "str_replace": {
      const text = files.get(call.path);
      const parts = text?.split(call.old_str);
      return parts?.length === 2 ? next.set(call.path, parts.join(call.new_str)) : undefined;
    }
    case "insert": {
      const text = files.get(call.path);
      if (text === undefined || call.insert_text === "") return undefined;
      const lines = text === "" ? [] : text.replace(/\n$/, "").split("\n");
      if (call.insert_line > lines.length) return undefined;
      const added = call.insert_text.replace(/\n$/, "").split("\n");
      lines.splice(call.insert_line, 0, ...added);
      const last = call.insert_line === lines.length - added.length;
      const ends = text.endsWith("\n") || (last && call.insert_text.endsWith("\n"));
      return next.set(call.path, lines.join("\n") + (ends ? "\n" : ""));
    }
    case "delete": {
      const gone = files.has(call.path) ? [call.path] : inside(call.path);
      for (const path of gone) next.delete(path);
      return gone.length === 0 ? undefined : next;
    }
    case "rename": {
      const { old_path: old, new_path: fresh } = call;
      const moved = files.has(old) ? [old] : inside(old);
      if (moved.length === 0 || files.has(fresh) || inside(fresh).length > 0) return undefined;
      if (fresh.startsWith(`${old}/`) || blocked(fresh)) return undefined;
      for (const path of moved) {
        next.delete(path);
        next.set(fresh + path.slice(old.length), files.get(path) as string);
      }
      return next;
    }
  }
}
