// node:http without its weight. An `import` of that module reads all its exports, one of which is the WebSocket client, and
// that loads Node's whole fetch implementation: 61 MB resident in place of 47. Taken this way, only what is used is loaded.

export const { Agent, createServer, request } = process.getBuiltinModule('node:http');
