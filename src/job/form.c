#include "job/form.h"

const struct delivery_form *delivery_form_find(const struct delivery_forms *forms, struct slice name)
{
    for (size_t i = 0; i < FORMS_MAX && forms->items[i]; i++)
        if (slice_equal(forms->items[i]->name, name))
            return forms->items[i];
    return NULL;
}

void delivery_form_judge(const struct delivery_form *form, const struct form_answer *answer,
                         struct form_judgement *judgement)
{
    *judgement = (struct form_judgement){.at_least_ms = -1};
    form->judge(answer, judgement);
}
