-- Part of a template: the statement that inserts the messages of a batch into a segment.
create function send_batch_insert() returns text
language sql
immutable
return $insert$insert into {schema}.message_${queue}_${segment} (${columns}seq, id, type, payload, headers)
select ${values}m.id, m.id, type_name, m.payload, m.headers from unnest(ids, payloads, headers${keys}) as m(id, payload, headers${key});$insert$;

-- Writes send_batch_<queue id>: inserts many messages in one statement and returns their ids in the order of the payloads. With dedupe_keys those
-- whose key has been used are left out, and answered with the id of the first, negative if marked says so.
create function generate_send_batch(queue_id int) returns void
language plpgsql
set search_path from current
as $generate$
declare
  settings queue;
  own constant jsonb := send_template_values(queue_id, of_batch => true);
begin
  select * into settings from queue q where q.id = queue_id;
  perform write_queue_function(
    concat_ws('_', 'send_batch', queue_id), 'type_name text, payloads text[], headers jsonb[], options jsonb, marked boolean', 'bigint[]', 'set jit = off', render($body$
declare
  ids bigint[];
  claimed bigint[];
  answers bigint[];
  bytes int;
  due_at timestamptz;
  ${variables}
begin
  if payloads is null or array_ndims(payloads) > 1 or headers is not null or {schema}.cluster_changed() then
    perform {schema}.require_same_cluster();
    perform {schema}.check_send_batch(payloads, headers);
  end if;
  select coalesce(array_agg(nextval('{schema}.message_seq_${queue}')), '{}'), max(octet_length(payload)) into ids, bytes from unnest(payloads) as payload;
  if type_name is null or bytes > ${payload_bytes_max} then
    perform {schema}.check_send(type_name, (select payload from unnest(payloads) as payload where octet_length(payload) > ${payload_bytes_max} limit 1), ${payload_bytes_max});
  end if;
  if options is not null then
    if not {schema}.are_send_options(options, ${known_options:L}) then
      perform {schema}.refuse_send_options(${queue}, options, ${known_options:L});
    end if;
    due_at := {schema}.send_due_at(options);
    ${read_options}
    if options ? 'dedupe_keys' then
      claimed := {schema}.claim_keys(${queue_uid}, options, ids);
      answers := claimed;
      if marked then
        answers := array(select case when m.claimed = m.id then m.id else -m.claimed end from unnest(ids, claimed) with ordinality as m(id, claimed, n) order by m.n);
      end if;
      select array_agg(m.id order by m.n), array_agg(m.payload order by m.n), array_agg(m.headers order by m.n)${keys_in_order}
        into ids, payloads, headers${keys}
        from unnest(ids, claimed, payloads, headers${keys}) with ordinality as m(id, claimed, payload, headers${key}, n)
       where m.claimed = m.id;
      if ids is null then
        return coalesce(answers, '{}');
      end if;
    end if;
    if due_at > clock_timestamp() then
      perform {schema}.send_later(${queue_uid}, due_at, ids, ${later}, type_name, payloads, headers);
      return coalesce(answers, ids);
    end if;
  end if;
  case {schema}.pointer_segment(pg_sequence_last_value('{schema}.segment_pointer_${queue}'))
    ${insert_by_segment}
    else
      $body$ || indent(send_batch_insert(), 6) || $body$
  end case;
  ${wake}
  return coalesce(answers, ids);
end
    $body$, own || jsonb_build_object(
      'queue', queue_id,
      'queue_uid', settings.uid,
      'payload_bytes_max', settings.payload_bytes_max,
      'known_options', known_send_options(queue_id, of_batch => true)::text,
      'keys_in_order', case when own ->> 'keys' <> '' then ', array_agg(m.key order by m.n)' else '' end,
      'insert_by_segment', (
        select string_agg(render(E'when ${segment} then\n  ' || indent(send_batch_insert(), 2), own - '{variables,read_options,later}'::text[] || jsonb_build_object(
                 'queue', queue_id, 'segment', segment
               )), E'\n' order by segment)
          from generate_series(0, segment_count(queue_id) - 1) as ring(segment)
      ),
      'segment', 0,
      'wake', wake_statement(queue_id)
    )));
end
$generate$;

create function check_send_batch(payloads text[], headers jsonb[]) returns void
language plpgsql
immutable
set search_path from current
as $$
begin
  if payloads is null or array_ndims(payloads) > 1 then
    raise exception using
      errcode = 'PQ004',
      message = format('expected payloads to be an array of one dimension, got: %s', coalesce(array_dims(payloads), 'NULL')),
      hint = 'An empty array sends nothing.';
  end if;
  if headers is not null and cardinality(headers) <> cardinality(payloads) then
    raise exception using
      errcode = 'PQ004',
      message = format('expected as many headers as payloads (%s), got: %s', cardinality(payloads), cardinality(headers)),
      hint = 'Use NULL for a message without headers.';
  end if;
  if exists (select from unnest(headers) as h where jsonb_typeof(h) <> 'object') then
    raise exception using errcode = 'PQ004', message = 'expected every header set to be a JSON object or NULL';
  end if;
  perform refuse_headers(h) from unnest(headers) as h where octet_length(h::text) > headers_bytes_max();
end
$$;
