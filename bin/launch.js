/**
 * Starts one of the package's programs: in a checkout its TypeScript source, in an installed package the compiled file, because Node
 * strips no types below node_modules. Plain JavaScript, so that an old Node gets far enough to print the version it needs.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, statSync } from 'node:fs'
import { availableParallelism, homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { setFlagsFromString } from 'node:v8'

const minNodeMajor = 24

/** Versions of V8 that corrupt memory in JSON.parse (ADR 0062); `src/system/engine-fault.ts` has the same pattern. */
const faultyV8 = /^14\.6\./

/** Environment variable with the pid of the launcher that started this process under another Node. */
const launcherEnvName = 'SVC_LAUNCHED_BY'

/** V8 collects garbage without helper threads. */
const singleThreadedGcFlag = '--single-threaded-gc'

/** For `src/system/memory/release-start-memory.ts`, in every thread. */
const exposeGcFlag = '--expose-gc'

/**
 * When most objects of one allocation site have survived, V8 allocates all later ones of the site in the old generation. It decides that
 * at the start or during slow turns, and then each turn is retained by such an object until a major collection: some starts cost a fifth
 * more permanently.
 */
const noPretenuringFlag = '--no-allocation-site-pretenuring'

/** `--single-threaded-gc` also disables concurrent sweeping. On the main thread sweeping takes 20 ms, during which no request is served. */
const concurrentSweepingFlag = '--concurrent-sweeping'

/**
 * Settings of glibc, read at the start: large buffers are returned to the system when they are freed, and threads share two heaps. By
 * default glibc keeps freed buffers of up to 32 MB, in a heap for each thread, for as long as the server runs. Other systems ignore them.
 */
const mallocSettings = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '131072', MALLOC_TRIM_THRESHOLD_: '131072' }

/** On up to this many cores, four GC helpers and the threads they help compete. */
const maxCoresForSingleThreadedGc = 2

/**
 * Runs a program of the package. `program` is the module's path from the package's root without its extension; `run` gets the module;
 * `usesWorkers` says that it has worker threads, `isServer` that it is the server.
 * @param {string} program
 * @param {(module: any) => unknown} run
 * @param {{ usesWorkers?: boolean, isServer?: boolean }} [options]
 */
export async function launch(program, run, { usesWorkers = false, isServer = false } = {}) {
  const source = toPath(`../${program}.ts`)
  const inCheckout = existsSync(source)
  const isOld = Number.parseInt(process.versions.node, 10) < minNodeMajor
  // A checkout contains the runtime it is developed with.
  const pinned = toPath('../node_modules/node/bin/node')
  const isPinned = process.env[launcherEnvName] !== undefined
  if ((isOld || faultyV8.test(process.versions.v8)) && inCheckout && !isPinned && existsSync(pinned))
    return runUnderPinnedNode(pinned)
  if (!isOld) {
    if (isServer) {
      restartWithSettings()
      setFlagsFromString(noPretenuringFlag)
      setFlagsFromString(concurrentSweepingFlag)
    }
    exitWithParent(() => process.kill(process.pid, 'SIGTERM'))
    await enablePrivateCompileCache(usesWorkers)
    await run(await import(pathToFileURL(inCheckout ? source : toPath(`../dist/${program}.js`)).href))
    return
  }
  const remedy = inCheckout ? 'Install one, or run npm ci without --omit=dev, which brings it along.' : 'Install one.'
  process.stderr.write(`This needs Node ${minNodeMajor} or newer; here is ${process.version}. ${remedy}\n`)
  process.exitCode = 1
}

/**
 * Restarts the process with settings that are accepted only at its start: those of the memory allocator, and V8's flags. With GC
 * helpers, parsing a long prompt in one thread delays turns in the other by tens of milliseconds; more cores have room for the helpers. To
 * profile a server as it is served, pass the flag and the settings yourself.
 */
function restartWithSettings() {
  const flags = [exposeGcFlag, ...(availableParallelism() <= maxCoresForSingleThreadedGc ? [singleThreadedGcFlag] : [])]
  const missingFlags = flags.filter((flag) => !process.execArgv.includes(flag))
  const needsMalloc = process.platform === 'linux' && Object.keys(mallocSettings).some((name) => process.env[name] === undefined)
  if (missingFlags.length === 0 && !needsMalloc) return
  // The profiler's signal would reach the new process before its handler exists, and end it.
  if (process.execArgv.includes('--cpu-prof')) return
  try {
    process.execve?.(process.execPath, [process.execPath, ...process.execArgv, ...missingFlags, ...process.argv.slice(1)], {
      ...mallocSettings,
      ...process.env,
    })
  } catch {
    // execve is not supported on this system; the server runs with the default settings.
  }
}

/**
 * Runs the same command line under another Node, and exits with it.
 * @param {string} node
 */
function runUnderPinnedNode(node) {
  const env = { ...process.env, [launcherEnvName]: String(process.pid) }
  const child = spawn(node, process.argv.slice(1), { stdio: 'inherit', env })
  exitWithParent(() => child.kill('SIGTERM'))
  const forwardSignal = (/** @type {NodeJS.Signals} */ signal) => child.kill(signal)
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGUSR2']) process.on(signal, forwardSignal)
  process.on('SIGINT', (signal) => {
    // A terminal's Ctrl-C reaches both processes; a signal sent to this one alone is forwarded.
    if (!process.stdin.isTTY) child.kill(signal)
  })
  child.on('error', (error) => {
    process.stderr.write(`Cannot start ${node}: ${error.message}\n`)
    process.exitCode = 1
  })
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1)
    // The child was ended by a signal: end this process by the same one, without handlers.
    for (const name of ['SIGTERM', 'SIGHUP', 'SIGUSR2', 'SIGINT']) process.removeAllListeners(name)
    process.kill(process.pid, signal)
  })
}

/**
 * Keeps compiled code for the next start, which then takes half the time. The folder is the user's own: code that others can write there
 * would run as this user, so the shared default folder is not used.
 * @param {boolean} usesWorkers
 */
async function enablePrivateCompileCache(usesWorkers) {
  if (process.env.NODE_COMPILE_CACHE !== undefined) return
  const { enableCompileCache } = await import('node:module')
  try {
    // An empty XDG_CACHE_HOME counts as unset; a relative one would depend on the current directory.
    const cache = process.env.XDG_CACHE_HOME ?? ''
    const folder = join(isAbsolute(cache) ? cache : join(homedir(), '.cache'), 'svc-gateway')
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const { uid, mode } = statSync(folder)
    const ours = process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0)
    if (!ours || process.env.NODE_DISABLE_COMPILE_CACHE !== undefined) return
    enableCompileCache(folder)
    // Worker threads read this variable. It is not set for programs that start others, and terminals, which would inherit it.
    if (usesWorkers) process.env.NODE_COMPILE_CACHE = folder
  } catch {
    // No folder for it, or no home directory: starting takes longer.
  }
}

/**
 * Ends the program when its parent ends. `npm start` and `npx` forward a signal to the shell they run this in, which dies without
 * forwarding it. Only the shell of such a command, or our own launcher, is watched; a program put into the background otherwise keeps running.
 * @param {() => void} end
 */
function exitWithParent(end) {
  const { npm_lifecycle_event: event, [launcherEnvName]: launcher } = process.env
  const parent = process.ppid
  delete process.env[launcherEnvName]
  if (launcher === undefined ? event !== 'npx' && event !== 'start' : launcher !== String(parent)) return
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    end()
  }, 250)
  watch.unref()
}

/** @param {string} path */
function toPath(path) {
  return fileURLToPath(new URL(path, import.meta.url))
}
