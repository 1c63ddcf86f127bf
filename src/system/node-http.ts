/**
 * What is used of Node's `http` besides its types. An `import` of it reads every export once, also the `WebSocket` that Node makes when
 * somebody asks, and with it loads all of `fetch` and its streams: a twentieth of a start.
 */
export const { createServer, STATUS_CODES, validateHeaderName, validateHeaderValue } = process.getBuiltinModule('node:http')
