// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	v1alpha1 "github.com/mongotuning/mongotuning/api/v1alpha1"
	"github.com/mongotuning/mongotuning/internal/admission"
	"github.com/mongotuning/mongotuning/internal/forecast"
	"github.com/mongotuning/mongotuning/internal/profile"
	"github.com/mongotuning/mongotuning/internal/revision"

	"github.com/mongotuning/mongotuning/config/crd"
)

// planner makes forecasts.
type planner struct {
	// way to the cluster; nil without one.
	way        *access
	tuningRule *admission.Definition
	profiles   map[string]*v1alpha1.TuningProfileSpec
	warnings   []string
}

// tuningRules are the rules of the API; compiling them takes a moment.
var tuningRules = sync.OnceValues(func() (*admission.Definition, error) { return admission.Read(crd.MongoTunings) })

// plan makes the forecast for one MongoTuning of a file.
func (p *planner) plan(ctx context.Context, object map[string]any, old []map[string]any, compares bool) (planView, error) { //nolint:revive // whether --against was given
	wanted := &unstructured.Unstructured{Object: object}
	view := planView{Name: wanted.GetName(), Namespace: wanted.GetNamespace(), Against: "nothing"}
	if unknown := p.tuningRule.UnknownFields(object); len(unknown) > 0 {
		for _, field := range unknown {
			view.Refused = append(view.Refused, field+": there is no such field")
		}
	}
	if p.way != nil && view.Namespace == "" {
		view.Namespace = p.way.namespace
	}
	view.Namespace = cmp.Or(view.Namespace, metav1.NamespaceDefault)
	wanted.SetNamespace(view.Namespace)
	before, err := p.before(ctx, &view, old)
	if err != nil {
		return view, err
	}
	if before != nil && !compares {
		adopt(wanted, before)
	}
	p.admit(ctx, &view, wanted, before)
	if len(view.Refused) > 0 {
		view.Verdict = verdictRefused
		return view, nil
	}
	wanted.Object = p.tuningRule.Defaulted(wanted.Object)
	return p.compare(ctx, view, wanted, before)
}

// adopt gives the object of a file what the API server keeps of the one in the cluster.
func adopt(wanted, live *unstructured.Unstructured) {
	wanted.SetUID(live.GetUID())
	wanted.SetResourceVersion(live.GetResourceVersion())
	if status, found := live.Object["status"]; found {
		wanted.Object["status"] = runtime.DeepCopyJSONValue(status)
	}
}

// before is the object to compare with; nil when there is none.
func (p *planner) before(ctx context.Context, view *planView, old []map[string]any) (*unstructured.Unstructured, error) {
	for _, object := range old {
		if before := (&unstructured.Unstructured{Object: object}); before.GetName() == view.Name {
			before.Object = p.tuningRule.Defaulted(before.Object)
			before.SetNamespace(view.Namespace)
			view.Against = "the file of before"
			return before, nil
		}
	}
	if p.way == nil {
		return nil, nil //nolint:nilnil // nothing to compare with is an answer
	}
	live, err := p.way.dynamic.Resource(tuningsResource).Namespace(view.Namespace).Get(ctx, view.Name, metav1.GetOptions{})
	var offline noClusterError
	switch {
	case err == nil:
		view.Against = "the cluster"
		return live, nil
	case apierrors.IsNotFound(err) && !isMissingKind(err):
		return nil, nil //nolint:nilnil // nothing to compare with is an answer
	}
	told := explained(err, "read MongoTuning "+view.Name, tuningsResource, view.Namespace)
	if isMissingKind(err) || errors.As(told, &offline) {
		p.warnings = append(p.warnings, "compared with nothing: "+firstLine(told))
		p.way = nil
		return nil, nil //nolint:nilnil // nothing to compare with is an answer
	}
	return nil, told
}

// admit notes why the API server would not take the object: by the rules that come with this program, and
// where the caller may write also by the server's own, which knows policies besides.
func (p *planner) admit(ctx context.Context, view *planView, wanted, before *unstructured.Unstructured) {
	problems := p.tuningRule.Create(ctx, wanted.Object)
	if before != nil {
		problems = p.tuningRule.Update(ctx, before.Object, wanted.Object)
	}
	for _, problem := range problems {
		view.Refused = append(view.Refused, problem.Error())
	}
	if p.way == nil || len(view.Refused) > 0 {
		return
	}
	objects := p.way.dynamic.Resource(tuningsResource).Namespace(view.Namespace)
	var err error
	if before == nil {
		_, err = objects.Create(ctx, wanted, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: fieldManager})
	} else {
		_, err = objects.Update(ctx, wanted, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: fieldManager})
	}
	switch {
	case err == nil:
	case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err):
		view.Refused = append(view.Refused, err.Error())
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "cannot "):
		// Who may not write has this program's rules only.
	case apierrors.IsForbidden(err):
		view.Refused = append(view.Refused, err.Error())
	default:
		p.warnings = append(p.warnings, "the API server was not asked whether it takes the object: "+firstLine(err))
	}
}

// compare makes the forecast once the object is known to be taken.
func (p *planner) compare(ctx context.Context, view planView, wanted, before *unstructured.Unstructured) (planView, error) {
	after, refused, err := p.side(ctx, wanted)
	if err != nil {
		return view, err
	}
	if len(refused) > 0 {
		view.Verdict, view.Refused = verdictRefused, refused
		return view, nil
	}
	var from forecast.Side
	if before != nil {
		live, err := into[v1alpha1.MongoTuning](before)
		if err != nil {
			return view, err
		}
		if from, err = p.inForce(ctx, &view, live, before); err != nil {
			return view, err
		}
		view.Waits = p.waits(ctx, live, after)
	}
	view.Forecast = forecast.Between(from, after)
	switch {
	case view.IsNew:
		view.Verdict = verdictNew
	case view.IsEmpty():
		view.Verdict = verdictNothing
	default:
		view.Verdict = verdictChange
	}
	return view, nil
}

// side resolves the tuning of an object; refused are the reasons why it cannot be declared.
func (p *planner) side(ctx context.Context, object *unstructured.Unstructured) (side forecast.Side, refused []string, err error) {
	if side.Tuning, err = into[v1alpha1.MongoTuning](object); err != nil {
		return side, nil, err
	}
	base, err := p.profile(ctx, side.Tuning.Spec.ProfileRef)
	var unknown unknownProfileError
	switch {
	case errors.As(err, &unknown):
		return side, []string{"profileRef.name: " + unknown.Error()}, nil
	case err != nil:
		return side, nil, err
	}
	side.Resolved, err = profile.Resolve(side.Tuning.Spec, base)
	if problems, ok := profile.AsRefused(err); ok {
		return side, problems.Problems, nil
	}
	return side, nil, err
}

func (p *planner) profile(ctx context.Context, ref *v1alpha1.ProfileReference) (*v1alpha1.TuningProfileSpec, error) {
	if ref != nil {
		if spec, inFile := p.profiles[ref.Name]; inFile {
			return spec, nil
		}
	}
	spec, source, err := profileFor(ctx, p.way, ref)
	if err == nil && source == sourceShipped && p.way != nil {
		p.warnings = append(p.warnings, fmt.Sprintf("profile %s is not installed in the cluster (kubectl apply -f profiles/%s.yaml); taken as it comes with this program", ref.Name, ref.Name))
	}
	return spec, err
}

// inForce is what the members are held to now: the revision verified last where it can be read, else what
// the object declares.
func (p *planner) inForce(ctx context.Context, view *planView, live *v1alpha1.MongoTuning, object *unstructured.Unstructured) (forecast.Side, error) {
	if verified := live.Status.Revisions.Verified; verified != "" && p.way != nil {
		record, err := p.way.kubernetes.AppsV1().ControllerRevisions(live.Namespace).Get(ctx, verified, metav1.GetOptions{})
		if err == nil {
			content, err := revision.Decode(verified, record.Data.Raw)
			if err != nil {
				return forecast.Side{}, err
			}
			view.Against = "revision " + verified + ", verified last"
			return forecast.Side{Tuning: content.LaidOver(live), Resolved: content.Resolved}, nil
		}
		p.warnings = append(p.warnings, fmt.Sprintf("revision %s cannot be read (%s); compared with what the object declares", verified, firstLine(err)))
	}
	from, refused, err := p.side(ctx, object)
	if err == nil && len(refused) > 0 {
		return from, fmt.Errorf("what %s declares now cannot be resolved, so there is nothing to compare with: %s", live.Name, strings.Join(refused, "; "))
	}
	return from, err
}

// waits are the reasons why the change would not begin, or not go on by itself.
func (p *planner) waits(ctx context.Context, live *v1alpha1.MongoTuning, after forecast.Side) []string {
	var reasons []string
	name := revision.Name(after.Tuning, after.Resolved)
	status := live.Status
	if isSuspended(live) {
		reasons = append(reasons, "changes are suspended: kubectl mongotuning resume "+live.Name)
	}
	if status.Revisions.Failed == name {
		reasons = append(reasons, fmt.Sprintf("this revision was taken back before (%s): kubectl mongotuning retry %s", cmp.Or(status.Rollout.Breach, "see history"), live.Name))
	}
	if isUnderWay(live) && status.Rollout.Revision != name {
		reasons = append(reasons, fmt.Sprintf("it would take the place of revision %s, which has come to step %s", status.Rollout.Revision, status.Rollout.Step))
	}
	var broken []string
	for _, breach := range status.Breaches {
		if breach.Enforcement == v1alpha1.EnforcementEnforce && !slices.Contains(broken, breach.Limit) {
			broken = append(broken, breach.Limit)
		}
	}
	if len(broken) > 0 {
		reasons = append(reasons, fmt.Sprintf("%s is out of range now, so members would restart only after kubectl mongotuning proceed %s", strings.Join(broken, ", "), live.Name))
	}
	return append(reasons, p.heldBack(ctx, live, after)...)
}

func (p *planner) heldBack(ctx context.Context, live *v1alpha1.MongoTuning, after forecast.Side) []string {
	ref := after.Tuning.Spec.ProfileRef
	if ref == nil || p.way == nil {
		return nil
	}
	others, err := p.way.tunings(ctx, metav1.NamespaceAll)
	if err != nil {
		p.warnings = append(p.warnings, "whether the profile was taken back elsewhere is not known: "+firstLine(err))
		return nil
	}
	for i := range others {
		if others[i].UID != live.UID && others[i].Status.Revisions.FailedProfile == ref.Name {
			return []string{fmt.Sprintf("profile %s was taken back on %s/%s and is held back here: kubectl mongotuning retry %s", ref.Name, others[i].Namespace, others[i].Name, live.Name)}
		}
	}
	return nil
}
