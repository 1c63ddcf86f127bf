/** The server under a service manager: messages to a real datagram socket, sent by the real systemd-notify. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { startServerProcess } from '../../support/processes/server-process.ts'
import { requireProgram } from '../../support/require-program.ts'
import { createTemporaryFolder } from '../../support/temporary-folder.ts'
import { waitUntil } from '../../support/wait-until.ts'

/** Prints each message. Node has no datagram sockets of the Unix family. */
const receiver = `
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print("bound", flush=True)
while True: print(s.recv(4096).decode(), flush=True)
`

t.test('the server reports that it is ready, that it lives, and that it stops', async (t) => {
  const python = requireProgram(t, 'python3')
  if (python === undefined || requireProgram(t, 'systemd-notify') === undefined) return
  const folder = createTemporaryFolder(t)
  const socket = join(folder, 'notify')
  const child = spawn(python, ['-c', receiver, socket], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  let received = ''
  child.stdout.on('data', (piece: Buffer) => (received += piece.toString()))
  await waitUntil(() => received.startsWith('bound'), 'the socket')
  const server = await startServerProcess(t, { DATA_DIR: folder, NOTIFY_SOCKET: socket, WATCHDOG_USEC: '400000' })
  await waitUntil(() => received.includes('READY=1'), 'the message of readiness')
  t.equal((await fetch(`${server.url}/readyz`)).status, 200)
  await waitUntil(() => received.split('WATCHDOG=1').length > 3, 'messages of the watchdog')
  t.equal(await server.terminate('SIGTERM'), 0)
  await waitUntil(() => received.includes('STOPPING=1'), 'the message of the end')
  t.notMatch(received, 'MAINPID', 'the server stays the main process')
})

t.test('the server sends no watchdog messages for another process, and reports a missing systemd-notify once', async (t) => {
  const folder = createTemporaryFolder(t)
  const variables = { NOTIFY_SOCKET: join(folder, 'none'), WATCHDOG_USEC: '400000', WATCHDOG_PID: '1' }
  const server = await startServerProcess(t, { DATA_DIR: folder, PATH: folder, ...variables })
  await waitUntil(() => server.log().includes('systemd cannot be notified'), 'the log line')
  t.equal((await fetch(`${server.url}/readyz`)).status, 200, 'it serves all the same')
  t.equal(await server.terminate('SIGTERM'), 0)
  t.equal(server.log().split('systemd cannot be notified').length, 2)
})
