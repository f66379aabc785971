import fc from "fast-check";

// A run of the tests says the same today and tomorrow. `npm run crash` and OPENRATH_RANDOM=1 look elsewhere each time.
if (process.env.OPENRATH_RANDOM === undefined && process.env.OPENRATH_CRASH_ROUNDS === undefined)
  fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: 20261115 });
