/** The writer of a ledger without its thread: the real executor on a database in memory. A test may hold its replies, or let it refuse. */
import Sqlite from 'better-sqlite3'
import { decodeOperation, encodeResult } from '../../../src/store/ledger/operation-codec.ts'
import type { Connection } from '../../../src/store/sqlite/connection/connection.ts'
import { StatementCache } from '../../../src/store/sqlite/connection/statement-cache.ts'
import type { WriterOp, WriterReply, WriterRequest, WriterResult } from '../../../src/store/sqlite/connection/writer-protocol.ts'
import { LedgerExecutor } from '../../../src/store/sqlite/ledger/ledger-executor.ts'
import type { ConnectWriter } from '../../../src/store/sqlite/writer/writer-connection.ts'

export class InThreadWriter {
  readonly #db: Connection
  readonly #statements: StatementCache
  #ledger: LedgerExecutor | undefined
  /** Sends one reply each. */
  #held: (() => void)[] = []
  #isHolding = false
  /** The database is locked: it refuses every operation, and the caller may try again. */
  isRefusing = false

  /** @param file what the database is called: the lock of its process is a file beside it */
  constructor(db: Connection, file: string) {
    this.#db = new Proxy(db, {
      get(target, key) {
        if (key === 'name') return file
        const value: unknown = Reflect.get(target, key, target)
        return typeof value === 'function' ? (value as () => unknown).bind(target) : value
      },
    })
    this.#statements = new StatementCache(db)
  }

  readonly connect: ConnectWriter = ({ onMessage }) => ({
    post: (request) => {
      const reply: WriterReply = [this.#handle(request), 0, true, this.#ledger?.holdsOpen ?? 0, 0, 0]
      this.#send(() => onMessage(reply))
    },
    close: async () => this.#ledger?.close(),
    terminate: async () => undefined,
  })

  /** Operations are executed, and their callers learn of it later. */
  hold(): void {
    this.#isHolding = true
  }

  resume(): void {
    this.#isHolding = false
    for (const send of this.#held.splice(0)) this.#send(send)
  }

  #send(send: () => void): void {
    if (this.#isHolding) this.#held.push(send)
    else setImmediate(send)
  }

  #handle(request: WriterRequest): readonly WriterResult[] {
    switch (request[0]) {
      case 'batch':
        return this.#batch(request[2])
      case 'query':
        return [this.#statements.run(request[1][1], request[1][2])]
      case 'begin':
        this.#db.exec('begin')
        return []
      case 'commit':
      case 'rollback':
        this.#db.exec(request[0])
        return []
      case 'register':
        this.#ledger = new LedgerExecutor(this.#db, request[1], request[2], request[3], () => true)
        return []
      default:
        return []
    }
  }

  #batch(ops: readonly WriterOp[]): readonly WriterResult[] {
    if (this.isRefusing) return ops.map(() => ['fault', 'SQLITE_BUSY', 'database is locked'])
    return ops.map((op) => {
      this.#db.exec('begin')
      try {
        const result = this.#apply(op)
        this.#ledger?.beforeCommit()
        this.#db.exec('commit')
        this.#ledger?.afterCommit()
        return result
      } catch (error) {
        this.#ledger?.afterRollback()
        if (this.#db.inTransaction) this.#db.exec('rollback')
        return ['fault', error instanceof Sqlite.SqliteError ? error.code : 'ERROR', String(error)]
      }
    })
  }

  #apply(op: WriterOp): WriterResult {
    if (op[0] === 'sql') {
      this.#ledger?.flushBalances()
      return this.#statements.run(op[1], op[2])
    }
    if (this.#ledger === undefined) throw new Error('the process is not registered')
    return encodeResult(this.#ledger.apply(decodeOperation(op)))
  }
}
