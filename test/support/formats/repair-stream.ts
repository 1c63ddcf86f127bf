/** The chunks of a whole stream, repaired as those of an upstream. */
import { AnswerRepair } from '../../../src/codecs/chat/repair/answer-repair.ts'
import type { JsonObject } from '../../../src/exchange/api-format/api-format.ts'

export const repairContext = { requestId: 'mbr_1', startedAt: 0 }

export function repairStream(chunks: readonly JsonObject[]): readonly Record<string, unknown>[] {
  const repair = new AnswerRepair(repairContext)
  return [...chunks.flatMap((chunk) => repair.repairChunk({ ...chunk })), ...repair.endChoices({ isCut: false })]
}
