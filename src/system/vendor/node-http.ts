/**
 * The functions used of Node's `http`. An `import` of it reads every export, including the lazy `WebSocket`, and so loads all of `fetch`
 * and its streams: a twentieth of the start time.
 */
export const { createServer, STATUS_CODES, validateHeaderName, validateHeaderValue } = process.getBuiltinModule('node:http')
