/**
 * Loaded before every test file (tools/test.ts). Node's test runner follows every promise, to know by which test an error that
 * nobody caught was made; where a test is a provider with its chain and its cluster, that is a fifth of all it does. Without
 * it such an error still fails the file, and is told under the file's name; `node <file>` tells by which test.
 */
const hooks = process.getBuiltinModule("node:async_hooks");
const { createHook } = hooks;
hooks.createHook = (callbacks) => createHook({ ...callbacks, trackPromises: false });
