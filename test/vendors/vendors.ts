/** The vendors whose forms were found documented or recorded. */
import { deepseek } from './answers/deepseek.ts'
import { gemini } from './answers/gemini.ts'
import { groq } from './answers/groq.ts'
import { minimax } from './answers/minimax.ts'
import { mistral } from './answers/mistral.ts'
import { moonshot } from './answers/moonshot.ts'
import { openrouter } from './answers/openrouter.ts'
import { qwen } from './answers/qwen.ts'
import { xai } from './answers/xai.ts'
import { zai } from './answers/zai.ts'

export const vendors = [deepseek, gemini, groq, minimax, mistral, moonshot, openrouter, qwen, xai, zai] as const
