-- No statement is compiled. JIT compilation, the default of a server with LLVM, takes tens of milliseconds for each plan whose estimated
-- cost is high, and a plan that an enable_* setting forbids costs 10^10. No function here reads enough rows to gain from it.
--
-- Functions without any setting stay without: the planner inlines them, or they run once a message and read no table. The functions
-- generated for a queue have the setting in their text where their plans can become expensive.
do $$
declare
  configured regprocedure;
begin
  for configured in
    select p.oid
      from pg_proc p
     where p.pronamespace = (select n.oid from pg_namespace n where n.nspname = current_schema())
       and p.prokind = 'f' and p.proconfig is not null
  loop
    execute format('alter function %s set jit = off', configured);
  end loop;
end
$$;
