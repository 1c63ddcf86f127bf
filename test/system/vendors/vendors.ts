/** The vendors whose forms were found documented or recorded. */
import { azure } from './answers/azure.ts'
import { bedrock } from './answers/bedrock.ts'
import { deepseek } from './answers/deepseek.ts'
import { gemini } from './answers/gemini.ts'
import { groq } from './answers/groq.ts'
import { llamaCpp } from './answers/llama-cpp.ts'
import { lmStudio } from './answers/lm-studio.ts'
import { minimax } from './answers/minimax.ts'
import { mistral } from './answers/mistral.ts'
import { moonshot } from './answers/moonshot.ts'
import { openrouter } from './answers/openrouter.ts'
import { qwen } from './answers/qwen.ts'
import { sglang } from './answers/sglang.ts'
import { vllm } from './answers/vllm.ts'
import { xai } from './answers/xai.ts'
import { zai } from './answers/zai.ts'

export const vendors = [
  azure,
  bedrock,
  deepseek,
  gemini,
  groq,
  llamaCpp,
  lmStudio,
  minimax,
  mistral,
  moonshot,
  openrouter,
  qwen,
  sglang,
  vllm,
  xai,
  zai,
] as const
