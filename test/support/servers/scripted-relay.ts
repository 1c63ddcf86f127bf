/** A mail relay that answers each command as a test decides, over plain connections or with STARTTLS. */
import type { Socket } from 'node:net'
import { createServer } from 'node:net'
import { TLSSocket, createSecureContext } from 'node:tls'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { TestScope } from '../test-scope.ts'

/** `greeting`, `EHLO`, `AUTH`, `MAIL`, `RCPT`, `DATA` or `content`: the end of the email. */
export type RelayStep = 'connect' | 'greeting' | 'EHLO' | 'AUTH' | 'MAIL' | 'RCPT' | 'DATA' | 'content'

/** An answer instead of the usual one; `hang` answers nothing, `close` ends the connection. */
export type RelayFault = { readonly step: RelayStep; readonly reply: string }

export interface ScriptedRelay {
  readonly port: number
  /** The complete emails that were accepted. */
  readonly received: string[]
  /** The names in HELO and EHLO. */
  readonly heloNames: string[]
  /** All commands of all connections. */
  readonly commands: string[]
  setFault(fault: RelayFault | null): void
}

interface RelayOptions {
  /** Offers STARTTLS with this certificate. */
  readonly tls?: { readonly cert: string; readonly key: string }
}

export async function startScriptedRelay(t: TestScope, { tls }: RelayOptions = {}): Promise<ScriptedRelay> {
  let fault: RelayFault | null = null
  const [received, heloNames, commands]: [string[], string[], string[]] = [[], [], []]
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    serve(socket, true)
  })

  function serve(socket: Socket, greets: boolean): void {
    let content: string[] | null = null
    let rest = ''
    socket.on('error', () => undefined)
    const answer = (step: RelayStep, usual: string): boolean => {
      const reply = fault?.step === step ? fault.reply : usual
      if (reply === 'close') socket.destroy()
      else if (reply !== 'hang') socket.write(`${reply}\r\n`)
      return reply === usual
    }
    if (fault?.step === 'connect') return void socket.destroy()
    if (greets) answer('greeting', '220 relay.example ESMTP')
    socket.on('data', (chunk: Buffer) => {
      const lines = (rest + chunk.toString('latin1')).split('\r\n')
      rest = lines.pop() ?? ''
      for (const line of lines) handle(line)
    })
    function handle(line: string): void {
      if (content !== null) {
        if (line !== '.') return void content.push(line)
        const email = content.join('\n')
        content = null
        if (answer('content', '250 2.0.0 queued')) received.push(email)
        return
      }
      commands.push(line)
      const [verb = ''] = line.toUpperCase().split(/[ :]/)
      if (verb === 'EHLO' || verb === 'HELO') {
        heloNames.push(line.slice(5))
        const extensions = [...(tls !== undefined && !(socket instanceof TLSSocket) ? ['STARTTLS'] : []), 'AUTH PLAIN LOGIN']
        answer(
          'EHLO',
          ['relay.example', ...extensions]
            .map((word, index, all) => `250${index === all.length - 1 ? ' ' : '-'}${word}`)
            .join('\r\n'),
        )
      } else if (verb === 'STARTTLS' && tls !== undefined) {
        socket.write('220 2.0.0 go ahead\r\n')
        socket.removeAllListeners('data')
        serve(new TLSSocket(socket, { isServer: true, secureContext: createSecureContext(tls) }), false)
      } else if (verb === 'STARTTLS') socket.write('502 5.5.1 not here\r\n')
      else if (verb === 'AUTH') answer('AUTH', '235 2.7.0 welcome')
      else if (verb === 'MAIL') answer('MAIL', '250 2.1.0 ok')
      else if (verb === 'RCPT') answer('RCPT', '250 2.1.5 ok')
      else if (verb === 'DATA') {
        if (answer('DATA', '354 go on')) content = []
      } else socket.write('250 2.0.0 ok\r\n')
    }
  }

  server.listen(0, '0.0.0.0')
  await once(server, 'listening')
  t.teardown(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return {
    port: (server.address() as AddressInfo).port,
    received,
    heloNames,
    commands,
    setFault: (next) => void (fault = next),
  }
}
