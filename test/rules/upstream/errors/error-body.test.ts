/** Real error bodies, each as its author sends it, and what they mean. */
import t from 'tap'
import type { ErrorCode } from '../../../../src/errors.ts'
import { classifyFailure } from '../../../../src/upstream/errors/classify-failure.ts'

type Row = readonly [who: string, status: number, body: unknown, meant: ErrorCode]

const tooLong = 'context_length_exceeded'
const busy = 'upstream_rate_limited'
const theirs = 'invalid_request'
const operators = 'upstream_not_configured'
const noModel = 'upstream_model_unavailable'
const broken = 'upstream_error'
const policy = 'content_filter'

// One row per line, however long its body is.
// prettier-ignore
const rows: readonly Row[] = [
  ["OpenAI: key", 401, {"error":{"message":"Incorrect API key provided: sk-abc***xyz. You can find your API key at https://platform.openai.com/account/api-keys.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}, operators],
  ["OpenAI: organisation", 401, {"error":{"message":"You must be a member of an organization to use the API.","type":"invalid_request_error","param":null,"code":null}}, operators],
  ["OpenAI: money", 429, {"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}, operators],
  ["OpenAI: billing", 429, {"error":{"message":"Your account is not active, please check your billing details on our website.","type":"billing_not_active","param":null,"code":"billing_not_active"}}, operators],
  ["OpenAI: requests a minute", 429, {"error":{"message":"Rate limit reached for gpt-4o in organization org-abc on requests per min (RPM): Limit 500, Used 500, Requested 1. Please try again in 120ms.","type":"requests","param":null,"code":"rate_limit_exceeded"}}, busy],
  ["OpenAI: tokens a minute, one request too large", 429, {"error":{"message":"Request too large for gpt-4o in organization org-abc on tokens per min (TPM): Limit 30000, Requested 42000.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}, busy],
  ["OpenAI: requests a day", 429, {"error":{"message":"Rate limit reached for gpt-4o on requests per day (RPD): Limit 200, Used 200. Please try again in 7m12s. You can increase your rate limit by adding a payment method to your account at https://platform.openai.com/account/billing.","type":"requests","param":null,"code":"rate_limit_exceeded"}}, busy],
  ["OpenAI: too long", 400, {"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 130500 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}, tooLong],
  ["OpenAI: too long, newer models", 400, {"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}, tooLong],
  ["OpenAI: string too long", 400, {"error":{"message":"Invalid 'messages[0].content': string too long. Expected a string with maximum length 10485760, but got a string with length 12000000 instead.","type":"invalid_request_error","param":"messages[0].content","code":"string_above_max_length"}}, theirs],
  ["OpenAI: a value", 400, {"error":{"message":"Invalid value for 'temperature': must be at most 2.","type":"invalid_request_error","param":"temperature","code":"decimal_above_max_value"}}, theirs],
  ["OpenAI: unsupported value", 400, {"error":{"message":"Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.","type":"invalid_request_error","param":"temperature","code":"unsupported_value"}}, theirs],
  ["OpenAI: tool without its call", 400, {"error":{"message":"Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.","type":"invalid_request_error","param":"messages.[1].role","code":null}}, theirs],
  ["OpenAI: schema", 400, {"error":{"message":"Invalid schema for response_format 'x': In context=(), 'additionalProperties' is required to be supplied and to be false.","type":"invalid_request_error","param":"response_format","code":null}}, theirs],
  ["OpenAI: image", 400, {"error":{"message":"Timeout while downloading https://example.com/a.png.","type":"invalid_request_error","param":null,"code":"invalid_image_url"}}, theirs],
  ["OpenAI: model", 404, {"error":{"message":"The model `gpt-9` does not exist or you do not have access to it.","type":"invalid_request_error","param":null,"code":"model_not_found"}}, noModel],
  ["OpenAI: retired model", 404, {"error":{"message":"The model `gpt-3.5-turbo-0301` has been deprecated, learn more here: https://platform.openai.com/docs/deprecations","type":"invalid_request_error","param":null,"code":"model_not_found"}}, noModel],
  ["OpenAI: region", 403, {"error":{"message":"Country, region, or territory not supported","type":"request_forbidden","param":null,"code":"unsupported_country_region_territory"}}, operators],
  ["OpenAI: policy", 400, {"error":{"message":"Invalid prompt: your prompt was flagged as potentially violating our usage policy.","type":"invalid_request_error","param":null,"code":"invalid_prompt"}}, policy],
  ["OpenAI: server", 500, {"error":{"message":"The server had an error while processing your request. Sorry about that!","type":"server_error","param":null,"code":null}}, broken],
  ["OpenAI: overloaded", 503, {"error":{"message":"That model is currently overloaded with other requests.","type":"server_error","param":null,"code":null}}, broken],
  ["OpenAI: deactivated account", 403, {"error":{"message":"The OpenAI account associated with this API key has been deactivated.","type":"invalid_request_error","param":null,"code":"account_deactivated"}}, operators],
  ["Groq: restricted organization", 400, {"error":{"message":"Organization has been restricted. Please reach out to support if you believe this was in error.","type":"invalid_request_error","code":"organization_restricted"}}, operators],
  ["new-api: sensitive words", 400, {"error":{"message":"input contains sensitive words: [test] (request id: 20240523152007160608893pVIxONYS)","type":"new_api_error","param":"","code":"sensitive_words_detected"}}, policy],
  ["z.ai: content in Chinese", 400, {"error":{"code":"1301","message":"系统检测到输入或生成内容可能包含不安全或敏感内容，请您避免输入易产生敏感内容的提示语，感谢您的配合。"}}, policy],
  ["z.ai: content security", 400, {"error":{"detail":"Content Security Warning: The content may contain inappropriate content.","message":"Content Security Warning: The content may contain inappropriate content."}}, policy],
  ["z.ai: too long in Chinese", 400, {"error":{"code":"1261","message":"Prompt 超长"}}, tooLong],
  ["Moonshot: too long", 400, {"error":{"type":"invalid_request_error","message":"Input token length too long"}}, tooLong],
  ["MiniMax: key, in its own form", 401, {"base_resp":{"status_code":2049,"status_msg":"invalid api key"}}, operators],
  ["MiniMax: parameters, in its own form", 400, {"base_resp":{"status_code":2013,"status_msg":"invalid params"}}, theirs],
  ["Azure: key", 401, {"error":{"code":"401","message":"Access denied due to invalid subscription key or wrong API endpoint."}}, operators],
  ["Azure: throttled", 429, {"error":{"code":"429","message":"Requests to the ChatCompletions_Create Operation under Azure OpenAI API version 2024-02-01 have exceeded call rate limit of your current OpenAI S0 pricing tier. Please retry after 6 seconds."}}, busy],
  ["Azure: filter", 400, {"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation"}}}, policy],
  ["Azure: deployment", 404, {"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}, noModel],
  ["Azure: wrong address", 404, {"error":{"code":"404","message":"Resource not found"}}, operators],
  ["Anthropic: too long", 400, {"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"}}, tooLong],
  ["Anthropic: low credit", 400, {"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."}}, operators],
  ["Anthropic: key", 401, {"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}, operators],
  ["Anthropic: rate", 429, {"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization’s rate limit of 40,000 input tokens per minute."}}, busy],
  ["Anthropic: overloaded", 529, {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}, broken],
  ["Anthropic: field", 400, {"type":"error","error":{"type":"invalid_request_error","message":"messages: text content blocks must be non-empty"}}, theirs],
  ["Gemini: by the minute", 429, [{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaMetric":"generativelanguage.googleapis.com/generate_content_free_tier_requests","quotaId":"GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"11s"}]}}], busy],
  ["Gemini: tokens by the minute", 429, [{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaMetric":"generativelanguage.googleapis.com/generate_content_free_tier_requests","quotaId":"GenerateContentInputTokensPerModelPerMinute-FreeTier"}]}]}}], busy],
  ["Gemini: by the day", 429, [{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaMetric":"generativelanguage.googleapis.com/generate_content_free_tier_requests","quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"35s"}]}}], operators],
  ["Gemini: day and minute at once", 429, [{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaMetric":"generativelanguage.googleapis.com/generate_content_free_tier_requests","quotaId":"GenerateRequestsPerMinutePerProjectPerModel-FreeTier"},{"quotaMetric":"generativelanguage.googleapis.com/generate_content_free_tier_requests","quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]}}], operators],
  ["Gemini: not on this plan", 429, [{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits. * Quota exceeded for metric: generate_content_free_tier_requests, limit: 0, model: gemini-3-pro","status":"RESOURCE_EXHAUSTED","details":[]}}], operators],
  ["Gemini: by the minute, another form", 429, [{"error":{"code":429,"message":"Quota exceeded for quota metric 'Generate Content API requests per minute' of service 'generativelanguage.googleapis.com'.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RATE_LIMIT_EXCEEDED","metadata":{"quota_limit":"GenerateContentRequestsPerMinutePerProjectPerRegion"}}]}}], busy],
  ["Gemini: exhausted", 429, [{"error":{"code":429,"message":"Resource has been exhausted (e.g. check quota).","status":"RESOURCE_EXHAUSTED","details":[]}}], busy],
  ["Gemini: text within text", 429, {"error":{"message":"{\n  \"error\": {\n    \"code\": 429,\n    \"message\": \"Resource has been exhausted (e.g. check quota).\",\n    \"status\": \"RESOURCE_EXHAUSTED\"\n  }\n}\n","code":429,"status":"Too Many Requests"}}, busy],
  ["Vertex: exhausted", 429, [{"error":{"code":429,"message":"Resource exhausted. Please try again later. Please refer to https://cloud.google.com/vertex-ai/generative-ai/docs/error-code-429 for more details.","status":"RESOURCE_EXHAUSTED","details":[]}}], busy],
  ["Gemini: key", 400, [{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","metadata":{}}]}}], operators],
  ["Gemini: too long", 400, [{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048575).","status":"INVALID_ARGUMENT","details":[]}}], tooLong],
  ["Gemini: a field", 400, [{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \"frequency\": Cannot find field.","status":"INVALID_ARGUMENT","details":[{"fieldViolations":[{"field":"frequency"}]}]}}], theirs],
  ["Gemini: model", 404, [{"error":{"code":404,"message":"models/gemini-9 is not found for API version v1main, or is not supported for generateContent.","status":"NOT_FOUND","details":[]}}], noModel],
  ["Gemini: overloaded", 503, [{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE","details":[]}}], broken],
  ["Gemini: location", 400, [{"error":{"code":400,"message":"User location is not supported for the API use.","status":"FAILED_PRECONDITION","details":[]}}], operators],
  ["DeepSeek: money", 402, {"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}, operators],
  ["DeepSeek: too long", 400, {"error":{"message":"This model's maximum context length is 131072 tokens. However, you requested 140000 tokens (140000 in the messages, 0 in the completion).","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}, tooLong],
  ["DeepSeek: deserialise", 422, {"error":{"message":"Failed to deserialize the JSON body into the target type: messages[0].role: unknown variant `bot`, expected one of `system`, `user`","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}, theirs],
  ["Moonshot: rate", 429, {"error":{"type":"rate_limit_reached_error","message":"Your account reached max request: 3, please try again after 1 seconds"}}, busy],
  ["Moonshot: money", 429, {"error":{"type":"exceeded_current_quota_error","message":"Your account is suspended, please check your plan and billing details"}}, operators],
  ["Moonshot: too long", 400, {"error":{"type":"invalid_request_error","message":"Invalid request: Your request exceeded model token limit: 8192"}}, tooLong],
  ["Moonshot: policy", 400, {"error":{"type":"content_filter","message":"The request was rejected because it was considered high risk"}}, policy],
  ["Qwen: too long", 400, {"error":{"code":"invalid_parameter_error","message":"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]","type":"invalid_request_error"}}, tooLong],
  ["Qwen: policy", 400, {"error":{"code":"data_inspection_failed","message":"Input data may contain inappropriate content.","type":"data_inspection_failed"}}, policy],
  ["Qwen: money", 400, {"error":{"code":"Arrearage","message":"Access denied, please make sure your account is in good standing.","type":"Arrearage"}}, operators],
  ["Zhipu: money", 429, {"error":{"code":"1113","message":"您的账户已欠费,请充值后重试"}}, operators],
  ["Zhipu: rate", 429, {"error":{"code":"1302","message":"您当前使用该API的并发数过高,请降低并发,或联系客服增加限额。"}}, busy],
  ["Mistral: key", 401, {"message":"Unauthorized","request_id":"x"}, operators],
  ["Mistral: field", 422, {"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","foo"],"msg":"Extra inputs are not permitted","input":1}]},"type":"invalid_request_error","param":null,"code":null}, theirs],
  ["Mistral: too long", 400, {"object":"error","message":"Prompt contains 40960 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_prompt","param":null,"code":"3051"}, tooLong],
  ["Mistral: model", 400, {"object":"error","message":"Invalid model: mistral-9","type":"invalid_model","param":null,"code":"1500"}, noModel],
  ["Mistral: rate", 429, {"message":"Requests rate limit exceeded"}, busy],
  ["Groq: tokens a minute", 413, {"error":{"message":"Request too large for model `llama-3.1-8b` in organization `org_x` on tokens per minute (TPM): Limit 6000, Requested 9000, please reduce your message size and try again.","type":"invalid_request_error","param":null,"code":"rate_limit_exceeded"}}, tooLong],
  ["Groq: rate", 429, {"error":{"message":"Rate limit reached for model `llama-3.3-70b` on tokens per day (TPD): Limit 100000. Please try again in 7m. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing","type":"tokens","param":null,"code":"rate_limit_exceeded"}}, busy],
  ["Groq: retired model", 400, {"error":{"message":"The model `x` has been decommissioned and is no longer supported.","type":"invalid_request_error","param":null,"code":"model_decommissioned"}}, noModel],
  ["Groq: too long", 400, {"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}, tooLong],
  ["Together: too long", 422, {"id":"x","error":{"message":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens and 512 `max_new_tokens`","type":"invalid_request_error","param":"max_tokens","code":null}}, tooLong],
  ["Together: model", 404, {"error":{"message":"Unable to access model x. Please visit https://api.together.ai/models to view the list of supported models.","type":"invalid_request_error","param":null,"code":"model_not_available"}}, noModel],
  ["Together: money", 402, {"error":{"message":"Credit limit exceeded, please navigate to https://api.together.ai/settings/billing","type":"credit_limit","param":null,"code":null}}, operators],
  ["Fireworks: too long", 400, {"error":{"object":"error","type":"invalid_request_error","message":"The prompt is too long: 140000, model maximum context length: 131071"}}, tooLong],
  ["Fireworks: suspended", 412, {"error":{"message":"Account x is suspended, possibly due to reaching the monthly spending limit or failure to pay past invoices."}}, operators],
  ["Cerebras: too long", 400, {"message":"Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}, tooLong],
  ["Cerebras: key", 401, {"message":"Wrong API Key","type":"invalid_request_error","param":"api_key","code":"wrong_api_key"}, operators],
  ["Cerebras: queue", 429, {"message":"We're experiencing high traffic right now! Please try again soon.","type":"too_many_requests_error","param":"queue","code":"queue_exceeded"}, busy],
  ["SambaNova: too long", 400, {"error":{"code":null,"message":"The maximum context length of model is 4096. However, answering your request will take 5000 tokens. Please reduce the length of the messages or the specified max_completion_tokens value.","param":null,"type":"invalid_request_error"}}, tooLong],
  ["xAI: too long", 400, {"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 140000 tokens."}, tooLong],
  ["xAI: key", 400, {"code":"Client specified an invalid argument","error":"Incorrect API key provided: xa***yz. You can obtain an API key from https://console.x.ai."}, operators],
  ["xAI: money", 429, {"code":"Some resource has been exhausted","error":"Your team has either used all available credits or reached its monthly spending limit."}, operators],
  ["Cohere: too long", 400, {"message":"too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000. Try using a shorter prompt."}, tooLong],
  ["Cohere: trial key", 429, {"message":"You are using a Trial key, which is limited to 10 API calls / minute. You can continue to use the Trial key for free or upgrade to a Production key with higher rate limits."}, busy],
  ["Perplexity: model", 400, {"error":{"message":"Invalid model 'sonar-x'. Permitted models can be found in the documentation.","type":"invalid_model","code":400}}, noModel],
  ["Perplexity: order", 400, {"error":{"message":"Last message must have role `user`.","type":"invalid_message","code":400}}, theirs],
  ["OpenRouter: money", 402, {"error":{"message":"This request requires more credits, or fewer max_tokens. You requested up to 4096 tokens, but can only afford 12.","code":402}}, operators],
  ["OpenRouter: free models a day", 429, {"error":{"message":"Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day","code":429}}, busy],
  ["OpenRouter: provider throttles", 429, {"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"x is temporarily rate-limited upstream. Please retry shortly.","provider_name":"Chutes"}}}, busy],
  ["OpenRouter: too long", 400, {"error":{"message":"This endpoint's maximum context length is 32768 tokens. However, you requested about 40000 tokens (40000 of text input). Please reduce the length of either one, or use the \"middle-out\" transform to compress your prompt automatically.","code":400}}, tooLong],
  ["OpenRouter: moderated", 403, {"error":{"message":"x requires moderation. Your input was flagged for \"violence\".","code":403,"metadata":{"reasons":["violence"],"flagged_input":"how to"}}}, policy],
  ["OpenRouter: data policy", 404, {"error":{"message":"No endpoints found matching your data policy.","code":404}}, noModel],
  ["LiteLLM: key", 401, {"error":{"message":"Authentication Error, Invalid proxy server token passed.","type":"auth_error","param":"None","code":"401"}}, operators],
  ["LiteLLM: model", 400, {"error":{"message":"litellm.BadRequestError: LLM Provider NOT provided. Pass in the LLM provider you are trying to call.","type":null,"param":null,"code":"400"}}, theirs],
  ["LiteLLM: budget", 400, {"error":{"message":"Budget has been exceeded! Current cost: 10.1, Max budget: 10.0","type":"budget_exceeded","param":null,"code":"400"}}, operators],
  ["LiteLLM: cool-down", 429, {"error":{"message":"No deployments available for selected model, Try again in 5 seconds.","type":"None","param":"None","code":"429"}}, busy],
  ["vLLM: too long", 400, {"error":{"message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens in the messages, Please reduce the length of the messages.","type":"BadRequestError","param":null,"code":400}}, tooLong],
  ["vLLM: too long, newer", 400, {"error":{"message":"You passed 5001 input tokens and requested 16 output tokens. However, the model's context length is only 4096 tokens, resulting in a maximum input length of 4080 tokens. Please reduce the length of the input prompt.","type":"BadRequestError","param":null,"code":400}}, tooLong],
  ["vLLM: a field", 400, {"error":{"message":"[{'type': 'greater_than_equal', 'loc': ('body', 'top_k'), 'msg': 'Input should be greater than or equal to -1'}]","type":"BadRequestError","param":null,"code":400}}, theirs],
  ["vLLM: model", 404, {"error":{"message":"The model `x` does not exist.","type":"NotFoundError","param":null,"code":404}}, noModel],
  ["vLLM: dead engine", 500, {"error":{"message":"EngineCore encountered an issue. See stack trace (above) for the root cause.","type":"InternalServerError","param":null,"code":500}}, broken],
  ["SGLang: too long", 400, {"object":"error","message":"The input (5000 tokens) is longer than the model's context length (4096 tokens).","type":"BadRequestError","param":null,"code":400}, tooLong],
  ["SGLang: with the answer", 400, {"object":"error","message":"Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of 5000 tokens: 4900 tokens from the input messages and 100 tokens for the completion.","type":"BadRequestError","param":null,"code":400}, tooLong],
  ["TGI: too long", 422, {"error":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 20 `max_new_tokens`","error_type":"validation"}, tooLong],
  ["TGI: too long alone", 422, {"error":"Input validation error: `inputs` must have less than 4095 tokens. Given: 5000","error_type":"validation"}, tooLong],
  ["TGI: overloaded", 429, {"error":"Model is overloaded","error_type":"overloaded"}, busy],
  ["TGI: a value", 422, {"error":"Input validation error: `temperature` must be strictly positive","error_type":"validation"}, theirs],
  ["llama.cpp: too long", 400, {"error":{"code":400,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"exceed_context_size_error","n_prompt_tokens":5000,"n_ctx":4096}}, tooLong],
  ["llama.cpp: loading", 503, {"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}, broken],
  ["Ollama: model", 404, {"error":{"message":"model \"x\" not found, try pulling it first","type":"api_error","param":null,"code":null}}, noModel],
  ["Ollama: tools", 400, {"error":{"message":"registry.ollama.ai/library/x does not support tools","type":"api_error","param":null,"code":null}}, operators],
  ["Ollama: memory", 500, {"error":{"message":"model requires more system memory (10.0 GiB) than is available (7.0 GiB)","type":"api_error","param":null,"code":null}}, broken],
  ["LM Studio: nothing loaded", 404, {"error":{"message":"No models loaded. Please load a model in the developer page or use the `lms load` command.","type":"invalid_request_error","param":"model","code":"model_not_found"}}, noModel],
  ["LM Studio: too long", 400, {"error":"Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input"}, tooLong],
  ["LM Studio: did not load", 400, {"error":{"message":"Failed to load model \"x\". Error: Error loading model.","type":"invalid_request_error","param":"model","code":"model_not_found"}}, noModel],
]

t.test('parses every body as its author means it', async (t) => {
  t.ok(rows.length >= 70, `${rows.length} bodies`)
  for (const [who, status, body, meant] of rows) {
    const facts = {
      kind: 'status',
      status,
      contentType: 'application/json',
      retryAfter: null,
      body: JSON.stringify(body),
    } as const
    t.equal(classifyFailure(facts).code, meant, who)
  }
})

t.test('passes on a wait that the body states', async (t) => {
  const facts = (status: number, body: unknown) =>
    ({ kind: 'status', status, contentType: 'application/json', retryAfter: null, body: JSON.stringify(body) }) as const
  t.equal(
    classifyFailure(facts(429, { error: { code: 429, message: 'Slow', details: [{ retryDelay: '11.2s' }] } })).details.retryAfter,
    12,
  )
  t.equal(classifyFailure(facts(429, { error: { message: 'Please try again in 5 seconds.' } })).details.retryAfter, 5)
})
