import { it } from "vitest";
import { dockerSandbox } from "./docker.js";
import { Trees } from "../trees.js";
import { openStore } from "../../store/index.js";
it("scratch", async () => {
  const trees = new Trees(await openStore("memory:"));
  const provider = dockerSandbox({ socket: "/tmp/pm/podman.sock", image: "openrath-test", timeout: 20000 });
  const make = (tree: string | null, o = {}) => provider.create({}, { id: `a${Math.random()}`, incarnation: 1, tree, trees, ...o });
  const box = await make(null);
  const show = async (b: typeof box, c: string) => { const r = await b.exec(c).result; console.log(c, r.outcome, r.code, r.why ?? "", Buffer.from(r.stdout).toString(), Buffer.from(r.stderr).toString()); };
  try {
    await show(box, "echo a > a.txt; printf '#!/bin/sh\\necho ran\\n' > run.sh; chmod 755 run.sh; mkdir dir empty; printf b > dir/b.txt; chmod 750 dir; chmod 640 dir/b.txt; ln -s dir/b.txt link; ls -laR");
    const { tree } = await box.snapshot();
    await show(box, "rm -rf dir; echo x > new; chmod 600 a.txt");
    await box.restore(tree);
    await show(box, "ls -laR");
    const again = await box.snapshot();
    console.log(tree, again.tree, JSON.stringify(await trees.tree(tree)), JSON.stringify(await trees.tree(again.tree)));
  } finally { await provider.close(); }
});
