// A server that reads and never says a word.
process.stdin.on("error", () => {});
process.stdin.on("end", () => process.exit(0));
process.stdin.resume();
