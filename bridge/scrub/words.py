"""The words that scrubbing keeps: the protocols' own, Codex's own tools and parameters, what errors are told by.

All else is replaced, so that what nobody thought of is no secret told.
"""

from __future__ import annotations

_FIELDS = """
a action call additionalProperties allOf allowed_tools annotations anyOf arg arguments array audio_url author
authorization background body boolean cached_tokens cache_write_tokens call_id cell_id chars choices chunk
client_metadata cmd code completion_tokens completion_tokens_details const contains content content_filter
content_index context context_management conversation created created_at custom data default defer_loading definition
definitions defs delta description detail details developer duration_ms effort encrypted encrypted_content enum error
examples execution exclusiveMaximum exclusiveMinimum external_web_access extra_content extras file_data file_id
file_url filename filters finish_reason force fork_context fork_turns format frequency_penalty function functions
google header id image_url include include_usage incomplete_details index input input_tokens input_tokens_details
instructions integer internal_chat_message_metadata_passthrough interrupt item item_id items justification label
last_id limit location login logit_bias logprobs max_completion_tokens max_output_tokens max_tokens max_tool_calls
maxItems maxLength maximum message messages metadata minItems minLength minimum mode model models multipleOf n name
namespace not null number object objective oneOf options output output_index output_text output_tokens
output_tokens_details parallel_tool_calls param parameters parent_turn_id part path path_prefix pattern
patternProperties phase predicted_outputs prefix_rule presence_penalty previous_response_id prompt prompt_cache_key
prompt_cache_retention prompt_tokens prompt_tokens_details properties query question questions reason reasoning
reasoning_content reasoning_details reasoning_effort reasoning_tokens recipient ref refusal required response
response_format root_turn_id safety_identifier sandbox_permissions schema search_content_types search_context_size
seed sequence_number server server_label service_tier session_id shell signature status stop store stream
stream_options strict string summary summary_index syntax system_fingerprint target targets task_name temperature
terminate text text_verbosity think thinking thought_signature thread_id timeout_ms title token_budget tool
tool_call_id tool_calls tool_choice tools top_logprobs top_p total_tokens truncation tty turn_id type bytes logprob
token uniqueItems uri url usage user user_location verbosity workdir yield_time_ms x-codex-installation-id
x-codex-parent-thread-id x-codex-turn-metadata x-codex-window-id x-openai-subagent
"""
_VALUES = """
additional_tools agent_message all_turns approximate assistant auto blocked cancelled chat client code_interpreter
commentary compaction compaction_summary compaction_trigger complete completed computer_use_preview concise
context_compaction current_turn custom_tool_call custom_tool_call_output detailed disabled drop enabled false
file_search final_answer flex function_call function_call_output grammar high image image_generation
image_generation_call in_progress incomplete input_audio input_file input_image input_text json_object json_schema lark
length local_shell local_shell_call low max mcp mcp_call medium minimal none original paused priority queued
reasoning.encrypted_content reasoning_text regex require_escalated root kid summary_text system text tool_search
tool_search_call tool_search_output true ultra use_default user web_search web_search_call web_search_preview xhigh
failed chat.completion chat.completion.chunk list
response.created response.in_progress response.completed response.failed response.incomplete response.queued
response.output_item.added response.output_item.done response.content_part.added response.content_part.done
response.output_text.delta response.output_text.done response.output_text.annotation.added response.refusal.delta
response.refusal.done response.function_call_arguments.delta response.function_call_arguments.done
response.custom_tool_call_input.delta response.custom_tool_call_input.done response.reasoning_text.delta
response.reasoning_text.done response.reasoning_summary_text.delta response.reasoning_summary_text.done
response.reasoning_summary_part.added response.reasoning_summary_part.done response.metadata
"""
_TOOLS = """
apply_patch clock close_agent codex_output_schema collaboration create_goal exec exec_command followup_task get_goal
interrupt_agent list_agents list_mcp_resource_templates list_mcp_resources lookup mcp multi_agent_v1 multi_agent_v2
read_mcp_resource request_user_input request_user_input_async resume_agent send_input send_message sleep spawn_agent
update_goal update_plan view_image wait wait_agent write_stdin
astra gpt luna sol
await Begin Add Delete End File Hunk Patch Update Error const echo exit_code let new new Promise notify return throw
"""
_ERRORS = """
api_error authentication_error bad_gateway context_length_exceeded cyber_policy insufficient_quota internal_error
invalid_api_key invalid_prompt invalid_request_error invalid_type invalid_value model_not_found not_found_error
overloaded_error permission_error rate_limit_error rate_limit_exceeded rate_limit_reached server_error
server_is_overloaded tokens unsupported_value upgrade_required
again are by context exceed exceeds exceeded in input is key length limit long longer many maximum ms of overloaded
prompt quota rate requests s seconds tokens too try window
"""
_NAMES = """
$ref author code const effort enum finish_reason include model name namespace object param phase propertyName reason
recipient required role server_label service_tier status task_name title type
"""
_ID_PREFIXES = """
amsg call cell chatcmpl cmp compaction ctc ctco fc fco item msg resp rs session thread toolu tsc tso turn ws
"""

WORDS = frozenset(" ".join((_FIELDS, _NAMES, _VALUES, _TOOLS, _ERRORS)).split())
"""Whole words; a name that has joints is also looked up part by part."""

NAMES = frozenset(_NAMES.split())
"""Keys under which a name or a word of a protocol stands."""

ID_PREFIXES = tuple(_ID_PREFIXES.split())
"""What stands before the `_` or `-` of an id."""
