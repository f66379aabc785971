// A process of its own that changes a list of users when it is told to, for tests.
const [dist, file, what, prefix] = process.argv.slice(2);
const { Users } = await import(`${dist}/entry/server.js`);
const users = new Users(file);
process.on("message", (round) => {
  try {
    if (what === "revoke") users.revoke("mallory");
    else users.add({ name: `${prefix}${round}`, roles: ["view"], under: "*" });
    process.send("");
  } catch (error) {
    process.send(String(error));
  }
});
process.send("ready");
