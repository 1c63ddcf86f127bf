/**
 * Starts one of the package's programs: in a checkout its TypeScript source, in an installed package what was compiled from it
 * (Node strips no types below node_modules). Plain JavaScript, so that an old Node gets far enough to say what it lacks.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, statSync } from 'node:fs'
import { availableParallelism, homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { setFlagsFromString } from 'node:v8'

const neededNode = 24

/** Tells a program that we started under another Node whose child it is. */
const launchedBy = 'SVC_LAUNCHED_BY'

/** V8 collects garbage in one thread at a time: mostly in the one that made it, which waits where another was quicker to begin. */
const collectAlone = '--single-threaded-gc'

/**
 * Where most objects of one place in the code have survived, V8 makes all later ones old from birth. It learns that at the start, or from
 * turns that are slow, and then each turn is kept by such an object until the slow collector comes: some starts cost a fifth more for good.
 */
const allYoung = '--no-allocation-site-pretenuring'

/** What collecting alone forbids as well: what was found dead is freed beside the main thread. There it takes 20 ms, in which nobody is served. */
const sweptAside = '--concurrent-sweeping'

/** Where there are no more cores, four helpers and those they help are in each other's way. */
const fewCores = 2

/**
 * `program` is the module's path from the package's root without its extension; `run` gets the module; `threads` says that it has some,
 * `stays` that it is the server.
 * @param {string} program
 * @param {(module: any) => unknown} run
 * @param {{ threads?: boolean, stays?: boolean }} [options]
 */
export async function launch(program, run, { threads = false, stays = false } = {}) {
  const source = at(`../${program}.ts`)
  const inCheckout = existsSync(source)
  if (Number.parseInt(process.versions.node, 10) >= neededNode) {
    if (stays) {
      beginAnew()
      setFlagsFromString(allYoung)
      setFlagsFromString(sweptAside)
    }
    endWithParent(() => process.kill(process.pid, 'SIGTERM'))
    await keepCompiled(threads)
    await run(await import(pathToFileURL(inCheckout ? source : at(`../dist/${program}.js`)).href))
    return
  }
  // A checkout brings the runtime it is developed with.
  const pinned = at('../node_modules/node/bin/node')
  if (inCheckout && existsSync(pinned)) return handOver(pinned)
  const remedy = inCheckout ? 'Install one, or run npm ci without --omit=dev, which brings it along.' : 'Install one.'
  process.stderr.write(`This needs Node ${neededNode} or newer; here is ${process.version}. ${remedy}\n`)
  process.exitCode = 1
}

/**
 * The same process under V8's settings for a server on few cores, which are taken only at its very beginning: with helpers, a long prompt
 * that is read in one thread makes the turns in the other wait for tens of milliseconds. More cores have room for the helpers. Whoever profiles a
 * server as it is served gives the setting too.
 */
function beginAnew() {
  if (availableParallelism() > fewCores || process.execArgv.includes(collectAlone)) return
  // A signal of its profiler would meet a process that does not know it yet, and dies of it.
  if (process.execArgv.includes('--cpu-prof')) return
  try {
    process.execve?.(
      process.execPath,
      [process.execPath, ...process.execArgv, collectAlone, ...process.argv.slice(1)],
      process.env,
    )
  } catch {
    // Not on this system: then it is the slower one.
  }
}

/**
 * The same command line under another Node; its end is our end.
 * @param {string} node
 */
function handOver(node) {
  const env = { ...process.env, [launchedBy]: String(process.pid) }
  const child = spawn(node, process.argv.slice(1), { stdio: 'inherit', env })
  endWithParent(() => child.kill('SIGTERM'))
  const handOn = (/** @type {NodeJS.Signals} */ signal) => child.kill(signal)
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGUSR2']) process.on(signal, handOn)
  process.on('SIGINT', (signal) => {
    // A terminal's Ctrl-C reaches both processes by itself; what is sent to this one alone is handed on.
    if (!process.stdin.isTTY) child.kill(signal)
  })
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

/**
 * What Node compiled is kept for the next start, which then takes half the time. In a folder of our own: whoever could write there
 * could make us run what they like, so the one that all users of a machine share will not do.
 * @param {boolean} threads
 */
async function keepCompiled(threads) {
  if (process.env.NODE_COMPILE_CACHE !== undefined) return
  const { enableCompileCache } = await import('node:module')
  try {
    // An empty one counts as none; one that is not absolute would be another place for each folder it is started in.
    const cache = process.env.XDG_CACHE_HOME ?? ''
    const folder = join(isAbsolute(cache) ? cache : join(homedir(), '.cache'), 'svc-gateway')
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const { uid, mode } = statSync(folder)
    const ours = process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0)
    if (!ours || process.env.NODE_DISABLE_COMPILE_CACHE !== undefined) return
    enableCompileCache(folder)
    // Threads look for it here. Not where the program starts others, and terminals, that would inherit it.
    if (threads) process.env.NODE_COMPILE_CACHE = folder
  } catch {
    // No place for it, or nobody's home: it only takes longer.
  }
}

/**
 * `npm start` and `npx` tell a signal to the shell they run us in, which dies of it and tells nobody: then nobody would end us. Watched
 * is the shell of such a command alone, or our own launcher; whoever puts a program into the background in another way keeps it.
 * @param {() => void} end
 */
function endWithParent(end) {
  const { npm_lifecycle_event: event, [launchedBy]: launcher } = process.env
  const parent = process.ppid
  delete process.env[launchedBy]
  if (launcher === undefined ? event !== 'npx' && event !== 'start' : launcher !== String(parent)) return
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    end()
  }, 250)
  watch.unref()
}

/** @param {string} path */
function at(path) {
  return fileURLToPath(new URL(path, import.meta.url))
}
