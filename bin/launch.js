/**
 * Starts one of the package's programs: in a checkout its TypeScript source, in an installed package what was compiled from it
 * (Node strips no types below node_modules). Plain JavaScript, so that an old Node gets far enough to say what it lacks.
 */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'

const neededNode = 24

/**
 * `program` is the module's path from the package's root without its extension; `run` gets the module.
 * @param {string} program
 * @param {(module: any) => unknown} run
 */
export async function launch(program, run) {
  const source = at(`../${program}.ts`)
  const inCheckout = existsSync(source)
  if (Number.parseInt(process.versions.node, 10) >= neededNode) {
    await run(await import(pathToFileURL(inCheckout ? source : at(`../dist/${program}.js`)).href))
    return
  }
  // A checkout brings the runtime it is developed with.
  const pinned = at('../node_modules/node/bin/node')
  if (inCheckout && existsSync(pinned)) return handOver(pinned)
  process.stderr.write(`This needs Node ${neededNode} or newer; here is ${process.version}.\n`)
  process.exitCode = 1
}

/**
 * The same command line under another Node; its end is our end.
 * @param {string} node
 */
function handOver(node) {
  const child = spawn(node, process.argv.slice(1), { stdio: 'inherit' })
  // A terminal's Ctrl-C reaches both processes by itself; what is sent to this one alone is handed on.
  const handOn = (/** @type {NodeJS.Signals} */ signal) => child.kill(signal)
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGUSR2']) process.on(signal, handOn)
  process.on('SIGINT', () => {})
  child.on('error', (error) => {
    process.stderr.write(`Cannot start ${node}: ${error.message}\n`)
    process.exitCode = 1
  })
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1)
    // Ended by a signal: so do we, with nothing in the way of it.
    for (const name of ['SIGTERM', 'SIGHUP', 'SIGUSR2', 'SIGINT']) process.removeAllListeners(name)
    process.kill(process.pid, signal)
  })
}

/** @param {string} path */
function at(path) {
  return fileURLToPath(new URL(path, import.meta.url))
}
