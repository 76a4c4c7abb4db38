-- Writes send_batch_<queue id>: inserts many messages in one statement and returns their ids in the order of the payloads. With dedupe_keys those
-- whose key has been used are left out, and answered with the id of the first.
create function generate_send_batch(queue_id int) returns void
language plpgsql
set search_path from current
as $generate$
declare
  insert_into constant text := qualified($sql$
      insert into {schema}.message_%1$s_%2$s (%3$sseq, id, type, payload, headers)
      select %4$sm.id, m.id, type_name, m.payload, m.headers from unnest(ids, payloads, headers%5$s) as m(id, payload, headers%6$s);$sql$);
  part constant record := send_parts(queue_id);
  branches text;
  settings queue;
begin
  select * into settings from queue q where q.id = queue_id;
  select string_agg(format('when %2$s then ' || insert_into, queue_id, segment, part.columns, part.many, part.unnested, part.names), '' order by segment)
    into branches
    from generate_series(0, segment_count(queue_id) - 1) as ring(segment);

  execute format(qualified($ddl$
create or replace function {schema}.send_batch_%1$s(type_name text, payloads text[], headers jsonb[], options jsonb) returns bigint[]
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as %2$L;
revoke all on function {schema}.send_batch_%1$s(text, text[], jsonb[], jsonb) from public
$ddl$), queue_id, format(qualified($body$
declare
  ids bigint[];
  answers bigint[];
  bytes int;
  due_at timestamptz;%6$s
begin
  if payloads is null or array_ndims(payloads) > 1 or headers is not null or {schema}.cluster_changed() then
    perform {schema}.require_same_cluster();
    perform {schema}.check_send_batch(payloads, headers);
  end if;
  select coalesce(array_agg(nextval('{schema}.message_seq_%1$s')), '{}'), max(octet_length(payload)) into ids, bytes from unnest(payloads) as payload;
  if type_name is null or bytes > %3$s then
    perform {schema}.check_send(type_name, (select payload from unnest(payloads) as payload where octet_length(payload) > %3$s limit 1), %3$s);
  end if;
  if options is not null then
    if not {schema}.are_send_options(options, %10$L) then
      perform {schema}.refuse_send_options(%1$s, options, %10$L);
    end if;
    due_at := {schema}.send_due_at(options);%7$s
    if options ? 'dedupe_keys' then
      answers := {schema}.claim_keys(%4$s, options, ids);
      select array_agg(m.id order by m.n), array_agg(m.payload order by m.n), array_agg(m.headers order by m.n)%11$s
        into ids, payloads, headers%12$s
        from unnest(ids, answers, payloads, headers%12$s) with ordinality as m(id, answer, payload, headers%13$s, n)
       where m.answer = m.id;
      if ids is null then
        return coalesce(answers, '{}');
      end if;
    end if;
    if due_at > clock_timestamp() then
      perform {schema}.send_later(%4$s, due_at, ids, %8$s, type_name, payloads, headers);
      return coalesce(answers, ids);
    end if;
  end if;
  case {schema}.pointer_segment(pg_sequence_last_value('{schema}.segment_pointer_%1$s')) %2$s
    else%9$s
  end case;
  %5$s
  return coalesce(answers, ids);
end
$body$), queue_id, branches, settings.payload_bytes_max, settings.uid, wake_statement(queue_id),
  part.declared, part.read_many, part.later_many, format(insert_into, queue_id, 0, part.columns, part.many, part.unnested, part.names),
  known_send_options(queue_id, of_batch => true),
  case when part.names <> '' then ', array_agg(m.key order by m.n)' else '' end, part.unnested, part.names));
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
