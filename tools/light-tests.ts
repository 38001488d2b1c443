/**
 * Loaded before each test file. Node's runner follows every promise, to name the test in which an uncaught error began:
 * a sixth of all the work of our tests. Such an error still fails its file, and its stack says where it began.
 */
import hooks from "node:async_hooks";

const { createHook } = hooks;
hooks.createHook = (callbacks) => createHook({ ...callbacks, trackPromises: false });
