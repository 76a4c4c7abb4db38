-- Sending. One generated function per queue does the work: its statements are static, so their plans are kept.

-- Values for the templates of send and send_batch: what a queue with lanes, or with messages that expire, has beside seq, id, type, payload and headers.
--   columns, values     the columns, and what they get: of one message, or of one of many, m
--   variables           fragment: their declaration
--   read_options        fragment. Reads: options, in send_batch ids. Writes: the variables
--   later               the arguments lanes, keys and expires_at of send_later
--   keys, key           of send_batch alone: what else is unnested into m, and as what
create function send_template_values(queue_id int, of_batch boolean) returns jsonb
language plpgsql
stable
set search_path from current
as $generate$
declare
  settings queue;
  columns text[] := '{}';
  "values" text[] := '{}';
  variables text[] := '{}';
  read_options text[] := '{}';
  later_lanes text := 'null';
  later_keys text := 'null';
  later_expires_at text := 'null';
  lane_of constant text := render('{schema}.lane_of_${queue}', jsonb_build_object('queue', queue_id));
begin
  select * into settings from queue q where q.id = queue_id;
  if settings.lane_by = 'priority' then
    columns := '{lane}';
    "values" := '{lane}';
    variables := '{lane int := 0;}';
    read_options := array[render('lane := {schema}.send_priority(options, ${lanes});', jsonb_build_object('lanes', settings.lanes))];
    later_lanes := case when of_batch then 'array_fill(lane, array[cardinality(ids)])' else 'array[lane]' end;
  elsif settings.lane_by = 'key' then
    columns := '{lane,key}';
    if of_batch then
      variables := '{keys text[];}';
      "values" := array[lane_of || '(m.key, m.id)', 'm.key'];
      read_options := array[render('keys := {schema}.send_keys(options, cardinality(ids));')];
      later_lanes := 'array(select ' || lane_of || '(k.key, k.id) from unnest(keys, ids) with ordinality as k(key, id, n) order by n)';
      later_keys := 'keys';
    else
      variables := '{key text;}';
      "values" := array[lane_of || '(key, message_id)', 'key'];
      read_options := array[render('key := {schema}.send_key(options);')];
      later_lanes := 'array[' || lane_of || '(key, message_id)]';
      later_keys := 'array[key]';
    end if;
  end if;
  if settings.allow_expiry then
    columns := columns || 'expires_at'::text;
    "values" := "values" || 'expires_at'::text;
    variables := variables || 'expires_at timestamptz;'::text;
    read_options := read_options || render('expires_at := {schema}.send_expires_at(options);');
    later_expires_at := 'expires_at';
  end if;
  return jsonb_build_object(
    -- a comma after each
    'columns', array_to_string(columns || ''::text, ', '),
    'values', array_to_string("values" || ''::text, ', '),
    'variables', array_to_string(variables, E'\n'),
    'read_options', array_to_string(read_options, E'\n'),
    'later', concat_ws(', ', later_lanes, later_keys, later_expires_at)
  ) || case
    when not of_batch then '{}'
    when settings.lane_by = 'key' then '{"keys": ", keys", "key": ", key"}'
    else '{"keys": "", "key": ""}'
  end::jsonb;
end
$generate$;

-- Part of a template: the statement that inserts one message into a segment.
create function send_insert() returns text
language sql
immutable
return $insert$insert into {schema}.message_${queue}_${segment} (${columns}seq, id, type, payload, headers)
values (${values}message_id, message_id, type_name, payload, headers);$insert$;

-- Writes send_<queue id>: inserts one message into the segment that the pointer names and returns its id. With a dedupe key that another message
-- has, it returns that one's, negative if marked says so.
create function generate_send(queue_id int) returns void
language plpgsql
set search_path from current
as $generate$
declare
  settings queue;
  own constant jsonb := send_template_values(queue_id, of_batch => false);
begin
  select * into settings from queue q where q.id = queue_id;
  perform write_queue_function(concat_ws('_', 'send', queue_id), 'type_name text, payload text, options jsonb, marked boolean', 'bigint', '', render($body$
declare
  message_id constant bigint := nextval('{schema}.message_seq_${queue}');
  first_id bigint;
  headers jsonb;
  due_at timestamptz;
  ${variables}
begin
  -- one look for all that is rare: plpgsql sets up every expression anew in every transaction
  if type_name is null or octet_length(payload) > ${payload_bytes_max} or options is not null or {schema}.cluster_changed() then
    perform {schema}.require_same_cluster();
    if type_name is null or octet_length(payload) > ${payload_bytes_max} then
      perform {schema}.check_send(type_name, payload, ${payload_bytes_max});
    end if;
    if options is not null and not {schema}.are_send_options(options, ${known_options:L}) then
      perform {schema}.refuse_send_options(${queue}, options, ${known_options:L});
    end if;
    headers := options -> 'headers';
    if options ?| '{delay,at}' then
      due_at := {schema}.send_due_at(options);
    end if;
    ${read_options}
    if options ? 'dedupe_key' then
      first_id := {schema}.claim_key(${queue_uid}, options, message_id);
      if first_id is not null then
        return case when marked then -first_id else first_id end;
      end if;
    end if;
    if due_at > clock_timestamp() then
      perform {schema}.send_later(${queue_uid}, due_at, array[message_id], ${later}, type_name, array[payload], array[headers]);
      return message_id;
    end if;
  end if;
  case {schema}.pointer_segment(pg_sequence_last_value('{schema}.segment_pointer_${queue}'))
    ${insert_by_segment}
    else
      -- a segment younger than this function is served by the first: receivers read the whole ring
      $body$ || indent(send_insert(), 6) || $body$
  end case;
  ${wake}
  return message_id;
end
  $body$, own || jsonb_build_object(
    'queue', queue_id,
    'queue_uid', settings.uid,
    'payload_bytes_max', settings.payload_bytes_max,
    'known_options', known_send_options(queue_id, of_batch => false)::text,
    'insert_by_segment', (
      select string_agg(render(E'when ${segment} then\n  ' || indent(send_insert(), 2), jsonb_build_object(
               'queue', queue_id, 'segment', segment, 'columns', own ->> 'columns', 'values', own ->> 'values'
             )), E'\n' order by segment)
        from generate_series(0, segment_count(queue_id) - 1) as ring(segment)
    ),
    'segment', 0,
    'wake', wake_statement(queue_id)
  )));
end
$generate$;

-- Refuses what is not a type, and payloads that are too large.
create function check_send(type_name text, payload text, bytes_max int) returns void
language plpgsql
immutable
set search_path from current
as $$
begin
  if type_name is null then
    raise exception using errcode = 'PQ004', message = 'expected a message type, got: NULL', hint = 'Leave the type out for the type "default".';
  end if;
  if octet_length(payload) > bytes_max then
    raise exception using
      errcode = 'PQ004',
      message = format('payload too large: expected at most %s bytes, got: %s', bytes_max, octet_length(payload)),
      hint = 'Store it elsewhere and send a reference, or raise payload_bytes_max of the queue.';
  end if;
end
$$;
